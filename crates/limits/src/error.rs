//! What can be wrong with the address of Redis. A check never fails: without Redis, memory decides.

/// Why a Redis cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Redis address is not valid")]
    Address(#[source] redis::RedisError),
    #[error("{doing}")]
    Unreachable {
        doing: &'static str,
        #[source]
        source: redis::RedisError,
    },
}
