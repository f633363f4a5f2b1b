//! Packets between machines: lost one way, lost by chance, refused, and sent to an address that has moved.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use testkit::{Machine, Network};

use crate::can_be_had;

const DEADLINE: Duration = Duration::from_secs(20);
const PORT: u16 = 4711;

/// Long enough for bytes that come to have come, on a machine that is busy.
const SILENCE: Duration = Duration::from_millis(500);

#[test]
fn a_connection_is_cut_one_way_and_goes_on_when_healed() {
    let Some((_network, [first, second])) = machines(["first", "second"]) else {
        return;
    };
    let (mut at_first, mut at_second) = connection(&first, &second);
    say(&mut at_second, b"before");
    assert_eq!(hear(&mut at_first, 6), b"before");

    first.drop_from(second.address(), 1.0).expect("cut");
    say(&mut at_first, b"there");
    assert_eq!(hear(&mut at_second, 5), b"there", "the other way is open");
    say(&mut at_second, b"back");
    at_first.set_read_timeout(Some(SILENCE)).expect("set");
    let nothing = at_first.read(&mut [0]).expect_err("nothing arrives");
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);

    first.heal().expect("healed");
    at_first.set_read_timeout(Some(DEADLINE)).expect("set");
    assert_eq!(hear(&mut at_first, 4), b"back", "it was only late");
}

#[test]
fn a_lossy_way_is_slow_and_complete() {
    const BYTES: usize = 1 << 20;
    let Some((_network, [first, second])) = machines(["first", "second"]) else {
        return;
    };
    let (mut at_first, mut at_second) = connection(&first, &second);
    first.drop_from(second.address(), 0.2).expect("lossy");
    let sent: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    // Packets are large here: once in a while all of a MiB's arrive.
    for _ in 0..10 {
        thread::scope(|scope| {
            scope.spawn(|| say(&mut at_second, &sent));
            assert!(hear(&mut at_first, BYTES) == sent, "other bytes arrived");
        });
        if dropped(&first) > 0 {
            return;
        }
    }
    panic!("everything arrived at once");
}

#[test]
fn a_refusal_resets_connections_and_refuses_new_ones() {
    let Some((_network, [first, second])) = machines(["first", "second"]) else {
        return;
    };
    let (_at_first, mut at_second) = connection(&first, &second);
    first.refuse_from(second.address()).expect("refused");
    say(&mut at_second, b"anybody?");
    let reset = at_second.read(&mut [0]).expect_err("an answer at once");
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    let address = SocketAddr::from((first.address(), PORT));
    let refused = on(&second, move || {
        TcpStream::connect_timeout(&address, DEADLINE)
    });
    let refused = refused.expect_err("nobody listens for us");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    first.heal().expect("healed");
    connection(&first, &second);
}

#[test]
fn an_address_that_moves_is_found_at_its_new_place() {
    let Some((_network, [first, second, client])) = machines(["first", "second", "client"]) else {
        return;
    };
    let moving = Ipv4Addr::new(10, 77, 0, 100);
    first.take_address(moving).expect("taken");
    let (mut before, mut at_first) = connection_to(moving, &first, &client);
    say(&mut before, b"first");
    assert_eq!(hear(&mut at_first, 5), b"first");

    first.give_address_up(moving).expect("given up");
    second.take_address(moving).expect("taken");
    let (mut after, mut at_second) = connection_to(moving, &second, &client);
    say(&mut after, b"second");
    assert_eq!(hear(&mut at_second, 6), b"second");
}

#[test]
fn the_process_itself_reaches_its_machines_and_they_reach_it() {
    let Some((_network, [machine])) = machines(["machine"]) else {
        return;
    };
    let listener = TcpListener::bind((testkit::machine::WORLD, 0)).expect("bound");
    let address = listener.local_addr().expect("an address");
    let mut there = on(&machine, move || TcpStream::connect(address)).expect("connected");
    let (mut here, from) = listener.accept().expect("accepted");
    assert_eq!(from.ip(), machine.address());
    say(&mut there, b"hello");
    assert_eq!(hear(&mut here, 5), b"hello");
    let cut = machine.run(&["sh", "-c", "echo no >&2; exit 3"]);
    let cut = format!("{:#}", cut.expect_err("it failed"));
    assert!(cut.contains("machine") && cut.contains("no"), "{cut}");
}

/// A network with these machines, or nothing where there can be none.
fn machines<const COUNT: usize>(names: [&str; COUNT]) -> Option<(Network, [Machine; COUNT])> {
    if !can_be_had("a network", Network::unavailable()) {
        return None;
    }
    let mut network = Network::create().expect("a network");
    let mut number = 1;
    let machines = names.map(|name| {
        number += 1;
        network.machine(name, number).expect("a machine")
    });
    Some((network, machines))
}

/// A connection between both: the end at `first`, where it was accepted, and the one at `second`.
fn connection(first: &Machine, second: &Machine) -> (TcpStream, TcpStream) {
    let (at_second, at_first) = connection_to(first.address(), first, second);
    (at_first, at_second)
}

fn connection_to(address: Ipv4Addr, server: &Machine, client: &Machine) -> (TcpStream, TcpStream) {
    let listener = on(server, move || TcpListener::bind((address, PORT))).expect("bound");
    let address = SocketAddr::from((address, PORT));
    let there = on(client, move || {
        TcpStream::connect_timeout(&address, DEADLINE)
    });
    let there = there.expect("connected");
    let (here, from) = listener.accept().expect("accepted");
    assert_eq!(from.ip(), client.address());
    for end in [&there, &here] {
        end.set_read_timeout(Some(DEADLINE)).expect("set");
        end.set_nodelay(true).expect("set");
    }
    (there, here)
}

/// Does it on a thread that is on the machine: a socket stays where it was opened.
fn on<T: Send + 'static>(machine: &Machine, does: impl FnOnce() -> T + Send + 'static) -> T {
    let machine = machine.clone();
    let thread = thread::spawn(move || {
        machine.enter().expect("entered");
        does()
    });
    thread.join().expect("done")
}

/// How many packets the machine has dropped.
fn dropped(machine: &Machine) -> u64 {
    let rules = machine.run(&["iptables", "-w", "-nvxL", "INPUT"]);
    let rules = rules.expect("counters");
    let rule = rules.lines().find(|line| line.contains("DROP"));
    let count = rule.and_then(|rule| rule.split_whitespace().next());
    count.and_then(|count| count.parse().ok()).expect("a count")
}

fn say(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("sent");
}

fn hear(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).expect("received");
    bytes
}
