//! A wire that is slow, holds what it is given, or is cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Wire;

const DEADLINE: Duration = Duration::from_secs(20);

/// Long enough for bytes that come to have come, on a machine that is busy.
const SILENCE: Duration = Duration::from_millis(300);

#[test]
fn a_delay_takes_time_each_way_and_no_throughput() {
    const BYTES: usize = 32 << 20;
    let (wire, listener) = wire();
    let (mut there, mut here) = connection(&wire, &listener);
    let (way, way_back) = (Duration::from_millis(100), Duration::from_millis(200));
    wire.delay(way, way_back);
    let started = Instant::now();
    there.write_all(b"?").expect("sent");
    here.read_exact(&mut [0]).expect("received");
    assert!(started.elapsed() >= way);
    here.write_all(b"!").expect("sent");
    there.read_exact(&mut [0]).expect("received");
    assert!(started.elapsed() >= way + way_back);

    let started = Instant::now();
    let sender = thread::spawn(move || {
        there.write_all(&vec![7; BYTES]).expect("sent");
        there
    });
    here.read_exact(&mut vec![0; BYTES]).expect("received");
    // Piece by piece it would be 512 times 100 ms.
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    let mut there = sender.join().expect("sent");

    wire.heal();
    drop(here);
    assert_eq!(
        there.read(&mut [0]).expect("an end"),
        0,
        "it ended in order"
    );
}

#[test]
fn what_is_held_arrives_when_it_is_let_go() {
    let (wire, listener) = wire();
    let (mut there, mut here) = connection(&wire, &listener);
    wire.hold(true, false);
    there.write_all(b"held").expect("sent");
    here.write_all(b"free").expect("sent");
    assert_eq!(hear(&mut there), *b"free");
    here.set_read_timeout(Some(SILENCE)).expect("set");
    let nothing = here.read(&mut [0]).expect_err("nothing arrives");
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    here.set_read_timeout(Some(DEADLINE)).expect("set");
    wire.hold(false, true);
    assert_eq!(hear(&mut here), *b"held");
    here.write_all(b"back").expect("sent");
    wire.heal();
    assert_eq!(hear(&mut there), *b"back");
}

#[test]
fn a_cut_resets_what_is_connected_and_refuses_what_comes() {
    let (wire, listener) = wire();
    let (mut there, mut here) = connection(&wire, &listener);
    // The wire knows its end of it, too, once something has arrived.
    there.write_all(b"kept").expect("sent");
    assert_eq!(hear(&mut here), *b"kept");
    wire.hold(true, true);
    there.write_all(b"lost").expect("sent");
    wire.cut();
    for end in [&mut there, &mut here] {
        let reset = end.read(&mut [0]).expect_err("a reset");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    }
    let refused = TcpStream::connect(wire.address()).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    wire.cut();
    wire.heal();
    let (mut there, mut here) = connection(&wire, &listener);
    there.write_all(b"new!").expect("sent");
    assert_eq!(hear(&mut here), *b"new!");
}

#[test]
fn who_connects_to_a_wire_that_ends_nowhere_is_reset() {
    let (wire, listener) = wire();
    drop(listener);
    let mut nowhere = TcpStream::connect(wire.address()).expect("accepted");
    nowhere.set_read_timeout(Some(DEADLINE)).expect("set");
    let reset = nowhere.read(&mut [0]).expect_err("a reset");
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
}

fn wire() -> (Wire, TcpListener) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(any).expect("bound");
    let end = listener.local_addr().expect("an address");
    (Wire::start(any, end).expect("a wire"), listener)
}

fn connection(wire: &Wire, listener: &TcpListener) -> (TcpStream, TcpStream) {
    let there = TcpStream::connect(wire.address()).expect("connected");
    let (here, _) = listener.accept().expect("accepted");
    for end in [&there, &here] {
        end.set_read_timeout(Some(DEADLINE)).expect("set");
    }
    (there, here)
}

fn hear(stream: &mut TcpStream) -> [u8; 4] {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).expect("received");
    bytes
}
