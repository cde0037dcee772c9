"""Randomised protocols as PRISM programs, written for this benchmark in the spirit of the well-known case studies.

`consensus(n, k)`   n processes flip a shared coin: a counter walks at random until it is k n away from zero.
`csma(n, k)`        n stations share a wire; frames that overlap collide, and stations back off for up to 2^k slots.
`wlan(k)`           two stations share a radio channel; they wait, back off for up to 8 * 2^k slots, send, wait for an
                    acknowledgement.
`zeroconf()`        a host draws an address, probes for it four times and starts again when somebody answers.
`firewire(delay)`   two nodes ask each other to be the root; both draw a short or a long wait until one hears in time.

The clocks are integers and advance by `tick`, which is what costs in csma, wlan and firewire: all other steps of these
are free. Every program has a label "goal" and rewards "cost"; both are all that the benchmark reads.
"""

from __future__ import annotations

__all__ = ["PROGRAMS"]


def renamed(module: str, first: str, others: list[str], prefixes: str) -> str:
    """Return PRISM modules that are `first` with the digit 1 of each name in `prefixes` replaced."""
    lines = [module]
    for other in others:
        digit = other[-1]
        pairs = ", ".join(f"{name}1 = {name}{digit}" for name in prefixes.split())
        lines.append(f"module {other} = {first} [ {pairs} ] endmodule")
    return "\n".join(lines)


def consensus(n: int, k: int) -> str:
    process = """
module process1
  // 0: flip, 1: move the counter, 2: look at it, 3: decided
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
    """Return the update that goes on to the next phase with one of the first `count` multiples of `times`."""
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
  // 0: no answer under way, 1: somebody was asked, 2: an answer is on its way
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


def firewire(delay: int, unit: int = 10) -> str:
    short, long = (76 * unit, 85 * unit), (159 * unit, 167 * unit)
    node = f"""
module node1
  // 0: contention, 1: waits long, 2: waits shortly, 3: has asked, 4: root
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
  // what node 1 sends: 0: nothing, 1: a request on its way, 2: it has arrived
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
    "firewire": lambda: firewire(360),
}
