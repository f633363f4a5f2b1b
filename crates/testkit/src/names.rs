//! A name server that answers as the test says: truly, falsely, differently each time, or not at all.
//!
//! It speaks just enough DNS for that: one question over UDP, addresses and aliases, nothing to be kept.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread looks whether it is to end.
const GLANCE: Duration = Duration::from_millis(50);
/// A question over UDP is never longer.
const QUESTION_BYTES_MAX: usize = 512;
/// So many aliases may lead to one another.
const ALIASES_MAX: usize = 8;

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

const NO_ERROR: u8 = 0;
const SERVER_FAILURE: u8 = 2;
const NO_SUCH_NAME: u8 = 3;

/// A running name server, which knows no name until it is told. Dropping it ends it.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Zone {
    entries: HashMap<String, Entry>,
    /// How often each name was asked for, by the kind of question.
    asked: HashMap<(String, u16), usize>,
    is_over: bool,
}

#[derive(Clone, Debug)]
enum Entry {
    /// The addresses of each answer in turn; the last is given for ever.
    Addresses(Vec<Vec<IpAddr>>),
    Alias(String),
    Failure,
    Silence,
}

impl NameServer {
    pub fn start() -> anyhow::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(GLANCE))?;
        let address = socket.local_addr()?;
        let zone = Arc::<Mutex<Zone>>::default();
        let shared = Arc::clone(&zone);
        let thread = std::thread::Builder::new()
            .name("name server".to_owned())
            .spawn(move || serve(&socket, &shared))?;
        Ok(Self {
            address,
            zone,
            thread: Some(thread),
        })
    }

    /// What to set as `delivery.nameservers`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The name has these addresses.
    pub fn answer(&self, name: &str, addresses: &[IpAddr]) {
        self.answer_in_turn(name, &[addresses]);
    }

    /// The name has the first addresses when it is asked for first, and so on; the last are its addresses
    /// from then on.
    pub fn answer_in_turn(&self, name: &str, turns: &[&[IpAddr]]) {
        let turns = turns.iter().map(|turn| turn.to_vec()).collect();
        self.set(name, Entry::Addresses(turns));
    }

    /// The name is another name for `target`.
    pub fn alias(&self, name: &str, target: &str) {
        self.set(name, Entry::Alias(target.to_owned()));
    }

    /// Whoever should know the name has failed.
    pub fn fail(&self, name: &str) {
        self.set(name, Entry::Failure);
    }

    /// Questions about the name get no answer.
    pub fn keep_silent_about(&self, name: &str) {
        self.set(name, Entry::Silence);
    }

    /// How often the IPv4 address of a name was asked for.
    pub fn asked(&self, name: &str) -> usize {
        let zone = lock(&self.zone);
        zone.asked.get(&(name.to_owned(), A)).copied().unwrap_or(0)
    }

    fn set(&self, name: &str, entry: Entry) {
        lock(&self.zone).entries.insert(name.to_owned(), entry);
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        lock(&self.zone).is_over = true;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, zone: &Mutex<Zone>) {
    let mut buffer = [0; QUESTION_BYTES_MAX];
    while !lock(zone).is_over {
        let Ok((length, asker)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let answer = Question::read(&buffer[..length]).and_then(|question| {
            let (code, records) = lock(zone).answer(&question.name, question.kind)?;
            Some(question.answered(code, &records))
        });
        if let Some(answer) = answer {
            let _ = socket.send_to(&answer, asker);
        }
    }
}

/// One record of an answer: whose it is, and what it says.
enum Said {
    Address(String, IpAddr),
    Alias(String, String),
}

impl Zone {
    /// The code and the records of an answer; `None` if there is to be none.
    fn answer(&mut self, name: &str, kind: u16) -> Option<(u8, Vec<Said>)> {
        let asked = self.asked.entry((name.to_owned(), kind)).or_default();
        let turn = *asked;
        *asked += 1;
        let (mut name, mut records) = (name.to_owned(), Vec::new());
        for _ in 0..ALIASES_MAX {
            match self.entries.get(&name) {
                None => return Some((NO_SUCH_NAME, records)),
                Some(Entry::Failure) => return Some((SERVER_FAILURE, Vec::new())),
                Some(Entry::Silence) => return None,
                Some(Entry::Alias(target)) => {
                    records.push(Said::Alias(name, target.clone()));
                    name = target.clone();
                }
                Some(Entry::Addresses(turns)) => {
                    let addresses = turns.get(turn).or(turns.last()).into_iter().flatten();
                    let wanted = addresses.filter(|address| address.is_ipv4() == (kind == A));
                    let said = wanted.map(|address| Said::Address(name.clone(), *address));
                    records.extend(said.filter(|_| kind == A || kind == AAAA));
                    return Some((NO_ERROR, records));
                }
            }
        }
        Some((SERVER_FAILURE, Vec::new()))
    }
}

/// A question as it came.
struct Question<'q> {
    id: [u8; 2],
    name: String,
    kind: u16,
    /// The bytes that an answer repeats.
    repeated: &'q [u8],
}

impl<'q> Question<'q> {
    fn read(message: &'q [u8]) -> Option<Self> {
        let id = message.get(..2)?.try_into().ok()?;
        let question = message.get(12..)?;
        let (mut labels, mut at) = (Vec::new(), 0);
        loop {
            let length = usize::from(*question.get(at)?);
            let label = question.get(at + 1..=at + length)?;
            at += 1 + length;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(label).to_lowercase());
        }
        let kind = u16::from_be_bytes(question.get(at..at + 2)?.try_into().ok()?);
        Some(Self {
            id,
            name: labels.join("."),
            kind,
            repeated: question.get(..at + 4)?,
        })
    }

    fn answered(&self, code: u8, records: &[Said]) -> Vec<u8> {
        let count = u8::try_from(records.len()).expect("a handful");
        let mut message = self.id.to_vec();
        // An answer, to a question that wished for recursion and got it; one question, so many records.
        message.extend([0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]);
        message.extend(self.repeated);
        for record in records {
            let (owner, kind, data) = match record {
                Said::Address(owner, IpAddr::V4(v4)) => (owner, A, v4.octets().to_vec()),
                Said::Address(owner, IpAddr::V6(v6)) => (owner, AAAA, v6.octets().to_vec()),
                Said::Alias(owner, target) => (owner, CNAME, name_bytes(target)),
            };
            message.extend(name_bytes(owner));
            message.extend(kind.to_be_bytes());
            // Of the internet, and not to be kept.
            message.extend([0, 1, 0, 0, 0, 0]);
            let length = u16::try_from(data.len()).expect("a name or an address");
            message.extend(length.to_be_bytes());
            message.extend(data);
        }
        message
    }
}

fn name_bytes(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).expect("a label of at most 63 bytes"));
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn lock(zone: &Mutex<Zone>) -> MutexGuard<'_, Zone> {
    zone.lock().unwrap_or_else(PoisonError::into_inner)
}
