"""Randomised protocols as PRISM programs, written for this benchmark and modelled on well-known case studies.

`consensus(n, k)`   n processes flip a shared coin: a counter does a random walk until it is k n away from zero.
`csma(n, k)`        n stations share a wire. Overlapping frames collide; then stations back off for up to 2^k slots.
`wlan(k)`           two stations share a radio channel. They wait, back off for up to 8 * 2^k slots, send, and wait for
                    an acknowledgement.
`zeroconf()`        a host draws an address, probes for it four times, and starts again if another host answers.
`network(...)`      the same host on a network that queues its probes. An answer may come late, for an old address.
`firewire(delay)`   two nodes both want the other to be the root. Each waits for a short or a long time, at random, and
                    then sends a request. Requests that cross clash, and both nodes draw again.
`election(n)`       Itai and Rodeh's leader election in an asynchronous ring. Active processes draw bits and send them
                    on. A process with a 0 that receives a 1 becomes passive. A process that receives its own message
                    is the leader.
`stabilise(n)`      Israeli and Jalfon's self-stabilising ring. A process with a token passes it to the left or to the
                    right, where it merges with any other token. The goal is a single token.
`lifts(...)`        a person collects coins in a building whose floors are joined by lifts. Some doors lead back to the
                    entrance with probability one half. Modelled on elevators, from the planning competition of 2006.

In csma, wlan and firewire, clocks advance by the action `tick`, and only this action has costs. In election, only
drawing a bit has a cost. In the other programs, every step costs 1. Each program has a label "goal" and rewards "cost";
the benchmark reads nothing else. `stabilise(10)` and `stabilise(16)` have the states, transitions and values of QVBS's
ij.10 and of PRISM's example with 16 processes. The other programs are like their originals in structure, not in size.
"""

from __future__ import annotations

__all__ = ["PROGRAMS"]


def renamed(module: str, first: str, others: list[str], prefixes: str) -> str:
    """Return a PRISM module and its copies: names in `prefixes` end in the digit of the copy instead of 1."""
    lines = [module]
    for other in others:
        digit = other[-1]
        pairs = ", ".join(f"{name}1 = {name}{digit}" for name in prefixes.split())
        lines.append(f"module {other} = {first} [ {pairs} ] endmodule")
    return "\n".join(lines)


def consensus(n: int, k: int) -> str:
    process = """
module process1
  // 0: flip, 1: move the counter, 2: check the counter, 3: decided
  at1 : [0..3];
  coin1 : [0..1];
  [] at1 = 0 -> 0.5 : (at1' = 1) & (coin1' = 0) + 0.5 : (at1' = 1) & (coin1' = 1);
  [] at1 = 1 & coin1 = 0 & counter > -RANGE -> (at1' = 2) & (counter' = counter - 1) & (coin1' = 0);
  [] at1 = 1 & coin1 = 1 & counter < RANGE -> (at1' = 2) & (counter' = counter + 1) & (coin1' = 0);
  [] at1 = 2 & counter <= -FAR -> (at1' = 3) & (coin1' = 0);
  [] at1 = 2 & counter >= FAR -> (at1' = 3) & (coin1' = 1);
  [] at1 = 2 & counter > -FAR & counter < FAR -> (at1' = 0);
endmodule"""
    others = [f"process{i}" for i in range(2, n + 1)]
    everybody = " & ".join(f"at{i} = 3" for i in range(1, n + 1))
    return f"""mdp
const int FAR = {k * n};
const int RANGE = {(k + 1) * n};
global counter : [-RANGE..RANGE] init 0;
{renamed(process, "process1", others, "process at coin")}
label "goal" = {everybody};
rewards "cost"
  true : 1;
endrewards
"""


def uniform(variable: str, count: int, times: int = 1) -> str:
    """Return the update that enters the next phase and sets a variable to a random multiple of `times`."""
    return " + ".join(f"1/{count} : (at1' = at1 + 1) & ({variable}' = {times * i})" for i in range(count))


def csma(n: int, k: int, length: int = 30) -> str:
    stations = range(1, n + 1)
    begin = "\n".join(
        f"""  [begin{i}] wire = 0 -> (wire' = 1) & (since' = 0);
  [begin{i}] wire = 1 & since < 1 -> (wire' = 2) & (since' = 0);
  [busy{i}] wire = 1 & since >= 1 -> true;
  [busy{i}] wire = 2 -> true;
  [end{i}] wire = 1 -> (wire' = 0) & (since' = 0);"""
        for i in stations
    )
    backoff = "\n".join(f"  [] at1 = 2 & lost1 = {j} -> {uniform('wait1', 2**j, times=2)};" for j in range(1, k + 1))
    station = f"""
module station1
  // 0: has a frame, 1: sending, 2: draws a delay, 3: waits, 4: done
  at1 : [0..4];
  clock1 : [0..{length}];
  lost1 : [0..{k}];
  wait1 : [0..{2 * (2**k - 1)}];
  [begin1] at1 = 0 -> (at1' = 1) & (clock1' = 0);
  [busy1] at1 = 0 -> (at1' = 2) & (lost1' = min(lost1 + 1, {k}));
  [end1] at1 = 1 & clock1 = {length} -> (at1' = 4) & (clock1' = 0) & (lost1' = 0);
  [collide] at1 = 1 -> (at1' = 2) & (clock1' = 0) & (lost1' = min(lost1 + 1, {k}));
  [collide] at1 != 1 -> true;
{backoff}
  [] at1 = 3 & wait1 = 0 -> (at1' = 0);
  [tick] at1 = 1 & clock1 < {length} -> (clock1' = clock1 + 1);
  [tick] at1 = 3 & wait1 > 0 -> (wait1' = wait1 - 1);
  [tick] at1 = 4 -> true;
endmodule"""
    others = [f"station{i}" for i in range(2, n + 1)]
    everybody = " & ".join(f"at{i} = 4" for i in stations)
    return f"""mdp
module bus
  // 0: silent, 1: one frame, 2: frames have collided
  wire : [0..2];
  since : [0..1];
{begin}
  [collide] wire = 2 & since = 1 -> (wire' = 0) & (since' = 0);
  [tick] wire < 2 | since < 1 -> (since' = min(since + 1, 1));
endmodule
{renamed(station, "station1", others, "station at clock lost wait begin busy end")}
label "goal" = {everybody};
rewards "cost"
  [tick] true : 1;
endrewards
"""


def wlan(k: int) -> str:
    backoff = "\n".join(f"  [] at1 = 1 & lost1 = {j} -> {uniform('slots1', 8 * 2**j)};" for j in range(k + 1))
    station = f"""
module station1
  // 0: listens, 1: draws a delay, 2: counts slots down, 3: about to send, 4: sends, 5: waits for the answer, 6: done
  at1 : [0..6];
  clock1 : [0..9];
  lost1 : [0..{k}];
  slots1 : [0..{8 * 2**k - 1}];
  [tick] at1 = 0 & !heard1 & clock1 < 3 -> (clock1' = clock1 + 1);
  [tick] at1 = 0 & heard1 -> (clock1' = 0);
  [] at1 = 0 & !heard1 & clock1 = 3 -> (at1' = 3) & (clock1' = 0);
  [] at1 = 0 & heard1 -> (at1' = 1) & (clock1' = 0);
{backoff}
  [tick] at1 = 2 & heard1 -> (clock1' = 0);
  [tick] at1 = 2 & !heard1 & clock1 < 3 -> (clock1' = clock1 + 1);
  [tick] at1 = 2 & !heard1 & clock1 = 3 & slots1 > 0 -> (slots1' = slots1 - 1);
  [] at1 = 2 & !heard1 & clock1 = 3 & slots1 = 0 -> (at1' = 3) & (clock1' = 0);
  [tick] at1 = 3 & clock1 < 1 -> (clock1' = clock1 + 1);
  [send1] at1 = 3 -> (at1' = 4) & (clock1' = 0);
  [tick] at1 = 4 & clock1 < 8 -> (clock1' = clock1 + 1);
  [end1] at1 = 4 & clock1 >= 4 -> (at1' = 5) & (clock1' = 0);
  [tick] at1 = 5 & clock1 < 3 -> (clock1' = clock1 + 1);
  [] at1 = 5 & clock1 >= 1 & spoilt1 = 0 -> (at1' = 6) & (clock1' = 0) & (lost1' = 0);
  [] at1 = 5 & clock1 = 3 & spoilt1 = 1 -> (at1' = 1) & (clock1' = 0) & (lost1' = min(lost1 + 1, {k}));
  [tick] at1 = 6 -> true;
endmodule"""
    names = "station at clock lost slots heard spoilt send end"
    other = f"module station2 = station1 [ {', '.join(f'{name}1 = {name}2' for name in names.split())} ] endmodule"
    return f"""mdp
formula heard1 = on2;
formula heard2 = on1;
module channel
  on1 : bool;
  on2 : bool;
  spoilt1 : [0..1];
  spoilt2 : [0..1];
  [send1] !on2 -> (on1' = true) & (spoilt1' = 0);
  [send1] on2 -> (on1' = true) & (spoilt1' = 1) & (spoilt2' = 1);
  [send2] !on1 -> (on2' = true) & (spoilt2' = 0);
  [send2] on1 -> (on2' = true) & (spoilt1' = 1) & (spoilt2' = 1);
  [end1] true -> (on1' = false);
  [end2] true -> (on2' = false);
endmodule
{station}
{other}
label "goal" = at1 = 6 & at2 = 6;
rewards "cost"
  [tick] on1 & on2 : 10;
  [tick] !on1 & !on2 : 1;
endrewards
"""


def zeroconf(taken: int = 1000, loss: float = 0.1, probes: int = 4, period: int = 20) -> str:
    return f"""mdp
const double TAKEN = {taken} / 65024;
const double LOSS = {loss};
module host
  // 0: draws an address, 1: has sent a probe and waits, 2: uses the address
  at : [0..2];
  used : bool;
  probes : [0..{probes}];
  clock : [0..{period}];
  conflicts : [0..10];
  // 0: no answer to come, 1: another host received the probe, 2: its answer is on its way
  answer : [0..2];
  [] at = 0 & conflicts < 10 ->
    TAKEN * (1 - LOSS) : (at' = 1) & (used' = true) & (answer' = 1) & (probes' = 1)
    + TAKEN * LOSS : (at' = 1) & (used' = true) & (probes' = 1)
    + (1 - TAKEN) : (at' = 1) & (used' = false) & (probes' = 1);
  [] at = 0 & conflicts = 10 & clock < {period} -> (clock' = clock + 1);
  [] at = 0 & conflicts = 10 & clock = {period} -> (clock' = 0) & (conflicts' = 9);
  [] at = 1 & answer = 1 -> 1 - LOSS : (answer' = 2) + LOSS : (answer' = 0);
  [] at = 1 & answer = 2 -> (at' = 0) & (used' = false) & (answer' = 0) & (probes' = 0) & (clock' = 0)
    & (conflicts' = min(conflicts + 1, 10));
  [] at = 1 & answer != 1 & clock < {period} -> (clock' = clock + 1);
  [] at = 1 & answer = 0 & clock = {period} & probes < {probes} & used ->
    1 - LOSS : (answer' = 1) & (probes' = probes + 1) & (clock' = 0)
    + LOSS : (probes' = probes + 1) & (clock' = 0);
  [] at = 1 & answer = 0 & clock = {period} & probes < {probes} & !used -> (probes' = probes + 1) & (clock' = 0);
  [] at = 1 & answer = 0 & clock = {period} & probes = {probes} -> (at' = 2) & (clock' = 0);
endmodule
label "goal" = at = 2;
rewards "cost"
  true : 1;
endrewards
"""


def network(probes: int = 8, period: int = 20, delay: int = 60, taken: int = 1000, loss: float = 0.1) -> str:
    """Return the program; a queue slot has no probe (0), a probe that no host answers (1), or another probe (2)."""
    slots = range(1, 5)
    later = " & ".join(f"(q{i}' = {f'q{i + 1}' if i < 4 else 0})" for i in slots)
    stale = " & ".join(f"(q{i}' = min({f'q{i + 1}' if i < 4 else 0}, 1))" for i in slots)
    enqueue = "\n".join(
        f"  [probe] {f'q{i - 1} > 0 & ' if i > 1 else ''}q{i} = 0 -> (q{i}' = used ? 2 : 1);" for i in slots
    )
    return f"""mdp
const double TAKEN = {taken} / 65024;
const double LOSS = {loss};
module host
  // 0: draws an address, 1: probes for it, 2: uses it
  at : [0..2];
  used : bool;
  probes : [0..{probes}];
  clock : [0..{period}];
  [] at = 0 -> TAKEN : (at' = 1) & (used' = true) + 1 - TAKEN : (at' = 1) & (used' = false);
  [probe] at = 1 & probes < {probes} & clock = 0 -> (probes' = probes + 1) & (clock' = 1);
  [tick] at = 1 & clock > 0 & clock < {period} -> (clock' = clock + 1);
  [] at = 1 & clock = {period} & probes < {probes} -> (clock' = 0);
  [] at = 1 & clock = {period} & probes = {probes} -> (at' = 2) & (clock' = 0);
  [conflict] at = 1 -> (at' = 0) & (used' = false) & (probes' = 0) & (clock' = 0);
  [conflict] at != 1 -> true;
endmodule
module net
  // queued probes, the first in q1; how long q1 has been handled; whether an answer is on its way
  {" ".join(f"q{i} : [0..2];" for i in slots)}
  age : [0..{delay}];
  answered : bool;
{enqueue}
  [tick] !answered & q1 = 0 -> true;
  [tick] !answered & q1 > 0 & age < {delay} -> (age' = age + 1);
  [] !answered & q1 = 1 & age > 0 -> (age' = 0) & {later};
  [] !answered & q1 = 2 & age > 0 -> LOSS : (age' = 0) & {later} + 1 - LOSS : (age' = 0) & (answered' = true);
  [conflict] answered -> (answered' = false) & {stale};
endmodule
label "goal" = at = 2;
rewards "cost"
  true : 1;
endrewards
"""


def election(n: int) -> str:
    """Return the program; `from`i is the message sent by process i: 0 none, 1 or 2 a bit, 2 + k a count of k steps."""
    variables = "\n".join(f"  at{i} : [0..6]; bit{i} : [0..1]; from{i} : [0..{n + 2}];" for i in range(n))
    commands = ""
    for i in range(n):
        before = (i - 1) % n
        commands += f"""
  // process {i}: 0: draws, 1: sends its bit, 2: awaits one, 3: sends a count, 4: awaits one, 5: passive, 6: leader
  [draw{i}] at{i} = 0 -> 0.5 : (at{i}' = 1) & (bit{i}' = 0) + 0.5 : (at{i}' = 1) & (bit{i}' = 1);
  [] at{i} = 1 & from{i} = 0 -> (at{i}' = 2) & (from{i}' = 1 + bit{i});
  [] at{i} = 2 & bit{i} = 0 & from{before} = 2 -> (at{i}' = 5) & (from{before}' = 0);
  [] at{i} = 2 & (from{before} = 1 | from{before} = 1 + bit{i}) -> (at{i}' = 3) & (bit{i}' = 0) & (from{before}' = 0);
  [] at{i} = 3 & from{i} = 0 -> (at{i}' = 4) & (from{i}' = 3);
  [] at{i} = 4 & from{before} > 2 & from{before} < {n + 2} -> (at{i}' = 0) & (from{before}' = 0);
  [] at{i} = 4 & from{before} = {n + 2} -> (at{i}' = 6) & (from{before}' = 0);
  [] at{i} = 5 & from{i} = 0 & from{before} > 0 ->
    (from{i}' = from{before} > 2 ? from{before} + 1 : from{before}) & (from{before}' = 0);"""
    costs = "\n".join(f"  [draw{i}] true : 1;" for i in range(n))
    return f"""mdp
module ring
{variables}{commands}
endmodule
label "goal" = {" | ".join(f"at{i} = 6" for i in range(n))};
rewards "cost"
{costs}
endrewards
"""


def stabilise(n: int) -> str:
    variables = "\n".join(f"  token{i} : [0..1] init 1;" for i in range(n))
    passes = "\n".join(
        f"  [] token{i} = 1 -> "
        + " + ".join(f"0.5 : (token{i}' = 0) & (token{(i + d) % n}' = 1)" for d in (-1, 1))
        + ";"
        for i in range(n)
    )
    return f"""mdp
module ring
{variables}
{passes}
endmodule
label "goal" = {" + ".join(f"token{i}" for i in range(n))} = 1;
rewards "cost"
  true : 1;
endrewards
"""


def lifts(floors: int, places: int, shafts: tuple[int, ...], coins: int, doors: int) -> str:
    """Return the program; a fixed rule spreads the coins and the doors over the floors."""
    spots = [(1 + 3 * i % (floors - 1), (5 * i + 2) % places) for i in range(coins)]
    gates = [(1 + 2 * i % (floors - 1), (3 * i + 1) % (places - 1)) for i in range(doors)]
    at_gate = " | ".join(f"(level = {floor} & place = {place})" for floor, place in gates)
    lines = [
        f"  level : [0..{floors - 1}];",
        f"  place : [0..{places - 1}];",
        f"  inside : [0..{len(shafts)}];",
        *(f"  lift{i} : [0..{floors - 1}];" for i in range(1, len(shafts) + 1)),
        *(f"  coin{i} : bool;" for i in range(coins)),
        f"  [] inside = 0 & place > 0 & !({at_gate}) -> (place' = place - 1);",
        f"  [] inside = 0 & place < {places - 1} & !({at_gate}) -> (place' = place + 1);",
        f"  [] inside = 0 & ({at_gate}) -> 0.5 : (place' = place + 1) + 0.5 : (level' = 0) & (place' = 0);",
        f"  [] inside = 0 & place > 0 & ({at_gate}) -> (place' = place - 1);",
    ]
    for i, shaft in enumerate(shafts, 1):
        lines += [
            f"  [] inside = 0 & place = {shaft} & lift{i} = level -> (inside' = {i});",
            f"  [] inside = {i} -> (inside' = 0);",
            f"  [] lift{i} < {floors - 1} -> (lift{i}' = lift{i} + 1) & (level' = inside = {i} ? lift{i} + 1 : level);",
            f"  [] lift{i} > 0 -> (lift{i}' = lift{i} - 1) & (level' = inside = {i} ? lift{i} - 1 : level);",
        ]
    lines += [
        f"  [] inside = 0 & level = {floor} & place = {place} & !coin{i} -> (coin{i}' = true);"
        for i, (floor, place) in enumerate(spots)
    ]
    return f"""mdp
module building
{chr(10).join(lines)}
endmodule
label "goal" = {" & ".join(f"coin{i}" for i in range(coins))};
rewards "cost"
  true : 1;
endrewards
"""


def firewire(delay: int, unit: int = 10) -> str:
    short, long = (76 * unit, 85 * unit), (159 * unit, 167 * unit)
    node = f"""
module node1
  // 0: contention, 1: long wait, 2: short wait, 3: has sent a request, 4: root
  at1 : [0..4];
  clock1 : [0..{long[1]}];
  [] at1 = 0 -> 0.5 : (at1' = 1) & (clock1' = 0) + 0.5 : (at1' = 2) & (clock1' = 0);
  [tick] at1 = 1 & clock1 < {long[1]} -> (clock1' = clock1 + 1);
  [tick] at1 = 2 & clock1 < {short[1]} -> (clock1' = clock1 + 1);
  [tick] at1 >= 3 -> true;
  [ask1] at1 = 1 & clock1 >= {long[0]} & !heard1 -> (at1' = 3) & (clock1' = 0);
  [ask1] at1 = 2 & clock1 >= {short[0]} & !heard1 -> (at1' = 3) & (clock1' = 0);
  [] at1 = 1 & clock1 >= {long[0]} & heard1 -> (at1' = 4) & (clock1' = 0);
  [] at1 = 2 & clock1 >= {short[0]} & heard1 -> (at1' = 4) & (clock1' = 0);
  [clash] at1 = 3 -> (at1' = 0);
endmodule"""
    names = "node at clock heard ask wire age"
    other = f"module node2 = node1 [ {', '.join(f'{name}1 = {name}2' for name in names.split())} ] endmodule"
    wire = f"""
module line1
  // request of node 1: 0: none, 1: on its way, 2: has arrived
  wire1 : [0..2];
  age1 : [0..{delay}];
  [ask1] wire1 = 0 -> (wire1' = 1) & (age1' = 0);
  [tick] wire1 = 1 & age1 < {delay} -> (age1' = age1 + 1);
  [tick] wire1 != 1 -> true;
  [] wire1 = 1 & age1 >= {delay // 2} -> (wire1' = 2) & (age1' = 0);
  [clash] wire1 = 2 -> (wire1' = 0);
endmodule"""
    line = "module line2 = line1 [ line1 = line2, wire1 = wire2, age1 = age2, ask1 = ask2 ] endmodule"
    return f"""mdp
formula heard1 = wire2 = 2;
formula heard2 = wire1 = 2;
{node}
{other}
{wire}
{line}
label "goal" = at1 = 4 | at2 = 4;
rewards "cost"
  [tick] true : 1;
endrewards
"""


PROGRAMS = {
    "consensus-2-64": lambda: consensus(2, 64),
    "consensus-4-4": lambda: consensus(4, 4),
    "csma-3-2": lambda: csma(3, 2),
    "csma-2-6": lambda: csma(2, 6),
    "wlan-1": lambda: wlan(1),
    "wlan-3": lambda: wlan(3),
    "zeroconf": zeroconf,
    "zeroconf-net": network,
    "firewire": lambda: firewire(360),
    "election-4": lambda: election(4),
    "election-5": lambda: election(5),
    "stabilise-10": lambda: stabilise(10),
    "stabilise-16": lambda: stabilise(16),
    "lifts-2": lambda: lifts(6, 6, (0, 3), 4, 4),
    "lifts-3": lambda: lifts(6, 6, (0, 3, 5), 5, 4),
}
