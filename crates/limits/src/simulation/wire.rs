//! What is between a node and Redis: bytes, which take their time, get lost and end.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError, aio::MultiplexedConnection,
};
use testkit::Dice;
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
        duplex, split,
    },
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::redis::{Redis, Rule};
use crate::redis::Scripts;

/// More than a node ever has on its way.
const BUFFER_BYTES: usize = 1024 * 1024;
/// The clock of Redis, when the simulation begins.
const BEGINS_AT_US: u64 = 1_794_735_000_000_000;

/// The other end of all wires.
pub(super) struct Center {
    pub(super) dice: Dice,
    pub(super) redis: Redis,
    pub(super) began: Instant,
    /// By how much the clock of Redis was set forward since, and back.
    pub(super) ahead_us: u64,
    pub(super) behind_us: u64,
    pub(super) is_down: bool,
    /// Nothing is answered before.
    pub(super) hangs_until: Instant,
    /// Nodes that cannot reach it.
    pub(super) cut_off: Vec<usize>,
    /// How long a command takes at most, each way.
    pub(super) slowness_ms: u64,
    /// Once in so many commands the connection breaks.
    pub(super) breaks: u64,
    /// Who has a connection, and how it ends.
    open: Vec<(usize, CancellationToken)>,
    /// When a decision for each node was made last.
    decided_at: Vec<Instant>,
    pub(super) commands: u64,
}

#[derive(Clone)]
pub(super) struct Hub(Arc<Mutex<Center>>);

impl Hub {
    pub(super) fn new(dice: Dice) -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(Center {
            dice,
            redis: Redis::default(),
            began: now,
            ahead_us: 0,
            behind_us: 0,
            is_down: false,
            hangs_until: now,
            cut_off: Vec::new(),
            slowness_ms: 1,
            breaks: u64::MAX,
            open: Vec::new(),
            decided_at: Vec::new(),
            commands: 0,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Center> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn plug(&self, node: usize) -> Plug {
        Plug {
            node,
            hub: self.clone(),
        }
    }
}

impl Center {
    /// Ends connections: of one node, or all of them.
    pub(super) fn cut(&mut self, of: Option<usize>) {
        let is_meant = |node: usize| of.is_none_or(|of| of == node);
        for (_, ending) in self.open.iter().filter(|(node, _)| is_meant(*node)) {
            ending.cancel();
        }
        self.open.retain(|(node, _)| !is_meant(*node));
    }

    /// Whether what is sent arrives within a second.
    pub(super) fn is_quick(&self) -> bool {
        self.slowness_ms <= 20 && self.hangs_until <= Instant::now() && self.breaks == u64::MAX
    }

    /// When Redis decided last for this node.
    pub(super) fn decided_at(&self, node: usize) -> Instant {
        self.decided_at.get(node).copied().unwrap_or(self.began)
    }

    fn now_us(&self) -> u64 {
        let elapsed = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        BEGINS_AT_US + elapsed + self.ahead_us - self.behind_us
    }

    /// What Redis says to a command.
    fn answer(&mut self, node: usize, command: &[String]) -> String {
        self.commands += 1;
        let now_us = self.now_us();
        let word = |place: usize| command.get(place).map_or("", String::as_str);
        let number = |place: usize| word(place).parse::<u64>().unwrap_or_default();
        let rule = Rule {
            count: usize::try_from(number(4)).unwrap_or(usize::MAX),
            window_ms: number(5),
        };
        match (word(0), word(1)) {
            ("SCRIPT", "LOAD") => bulk(name_of(word(2))),
            ("EVALSHA", "exact") => {
                let wanted = usize::try_from(number(6)).unwrap_or(usize::MAX);
                let (granted, more, frees_in_us) = self.redis.decide(word(3), rule, now_us, wanted);
                if self.decided_at.len() <= node {
                    self.decided_at.resize(node + 1, self.began);
                }
                self.decided_at[node] = Instant::now();
                format!("*3\r\n:{granted}\r\n:{more}\r\n:{frees_in_us}\r\n")
            }
            ("EVALSHA", "restore") => {
                let ages: Vec<u64> = (6..command.len()).map(number).collect();
                let restored = self.redis.restore(word(3), rule, now_us, &ages);
                format!(":{restored}\r\n")
            }
            ("EVALSHA", "heartbeat") => {
                let (epoch, nodes) = self.redis.heartbeat(word(5), word(6), number(7), now_us);
                format!("*2\r\n{}:{nodes}\r\n", bulk(&epoch))
            }
            _ => "+OK\r\n".to_owned(),
        }
    }
}

/// A node's end of the wire.
#[derive(Clone)]
pub(crate) struct Plug {
    node: usize,
    hub: Hub,
}

impl Plug {
    pub(crate) async fn connect(
        &self,
        config: AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, RedisError> {
        let near = {
            let mut center = self.hub.lock();
            if center.is_down || center.cut_off.contains(&self.node) {
                return Err((ErrorKind::Io, "nobody is there").into());
            }
            let (near, far) = duplex(BUFFER_BYTES);
            let ending = CancellationToken::new();
            center.open.push((self.node, ending.clone()));
            spawn(serve(self.hub.clone(), self.node, far, ending));
            near
        };
        let info = RedisConnectionInfo::default();
        let (connection, driving) =
            MultiplexedConnection::new_with_config(&info, near, config).await?;
        spawn(driving);
        Ok(connection)
    }
}

/// Answers what comes over a wire, in its order, until it ends.
async fn serve(hub: Hub, node: usize, stream: DuplexStream, ending: CancellationToken) {
    let (reading, mut writing) = split(stream);
    let mut reading = BufReader::new(reading);
    let serving = async {
        while let Some(command) = read(&mut reading).await {
            let (there, back, breaks, arrives) = {
                let Center {
                    dice,
                    slowness_ms,
                    breaks,
                    ..
                } = &mut *hub.lock();
                let mut takes = || Duration::from_millis(dice.below(*slowness_ms + 1));
                let (there, back) = (takes(), takes());
                (there, back, dice.one_in(*breaks), dice.one_in(2))
            };
            sleep(there).await;
            loop {
                let until = hub.lock().hangs_until;
                if until <= Instant::now() {
                    break;
                }
                sleep_until(until).await;
            }
            // Before the command, or before its answer.
            if breaks && !arrives {
                return;
            }
            let answer = hub.lock().answer(node, &command);
            if breaks {
                return;
            }
            sleep(back).await;
            if writing.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    ending.run_until_cancelled(serving).await;
}

/// Whatever it does ends with the runtime of its run.
#[expect(clippy::disallowed_methods, reason = "all of it ends with the run")]
pub(super) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(task)
}

/// The next command, as Redis clients write them: a list of texts with their lengths.
async fn read(from: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Vec<String>> {
    let words = length(from, '*').await?;
    let mut command = Vec::with_capacity(words);
    for _ in 0..words {
        let mut text = vec![0; length(from, '$').await? + 2];
        from.read_exact(&mut text).await.ok()?;
        text.truncate(text.len() - 2);
        command.push(String::from_utf8(text).ok()?);
    }
    Some(command)
}

async fn length(from: &mut (impl tokio::io::AsyncBufRead + Unpin), of: char) -> Option<usize> {
    let mut line = String::new();
    from.read_line(&mut line).await.ok()?;
    line.strip_prefix(of)?.trim_end().parse().ok()
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// A script is known here by its name.
fn name_of(script: &str) -> &'static str {
    let Scripts { exact, restore, .. } = Scripts::default();
    if script == exact {
        "exact"
    } else if script == restore {
        "restore"
    } else {
        "heartbeat"
    }
}
