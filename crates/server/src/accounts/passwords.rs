//! Hashes passwords: argon2id on threads of its own, few at a time, so that nobody can order more
//! work than the machine has.

use std::{sync::Arc, thread};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _, password_hash};
use domain::{account::Password, error_code::ErrorCode};
use runtime::random;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

use crate::edge::Problem;

/// How many may wait for their turn: about a second of hashing for each core. Who comes next is told
/// to come again.
const WAITING_MAX_PER_CORE: usize = 32;

/// Hashes and checks passwords. Cheap to clone.
#[derive(Clone)]
pub struct Passwords {
    /// As many hashes at a time as there are cores; each needs 19 MiB.
    turns: Arc<Semaphore>,
    /// Those that wait and those whose turn it is.
    places: Arc<Semaphore>,
    /// What an unknown address is checked against: a hash like all others, of a password that nobody
    /// knows, so that it takes as long.
    nobodys: Arc<str>,
}

/// Why there is no hash.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("too many passwords are waiting to be hashed")]
    Overloaded,
    #[error("hash a password: {0}")]
    Hash(password_hash::Error),
    /// The thread ended: it panicked, or the process stops.
    #[error("hash a password")]
    Thread(#[from] tokio::task::JoinError),
}

impl Passwords {
    pub fn new() -> Result<Self, Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            turns: Arc::new(Semaphore::new(cores)),
            places: Arc::new(Semaphore::new(cores * (1 + WAITING_MAX_PER_CORE))),
            nobodys: hashed(&random::bytes::<32>())?.into(),
        })
    }

    /// The hash to store, in PHC form.
    pub async fn hash(&self, password: Password) -> Result<String, Error> {
        let turn = self.turn().await?;
        let hash = spawn_blocking(move || {
            let hash = hashed(password.reveal().as_bytes());
            drop(turn);
            hash
        });
        hash.await?
    }

    /// Whether this is the password of `stored`; without a stored hash it takes as long and is not.
    pub async fn check(&self, password: String, stored: Option<&str>) -> Result<bool, Error> {
        let known = stored.is_some();
        let stored = stored.unwrap_or(&self.nobodys).to_owned();
        let turn = self.turn().await?;
        let matches = spawn_blocking(move || {
            let checked = Argon2::default().verify_password(password.as_bytes(), stored.as_str());
            drop(turn);
            match checked {
                Ok(()) => Ok(true),
                Err(password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(Error::Hash(error)),
            }
        });
        Ok(matches.await?? && known)
    }

    /// Held by the thread, not by the request: a client that goes away does not end the work.
    async fn turn(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), Error> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| Error::Overloaded)?;
        let turn = Arc::clone(&self.turns)
            .acquire_owned()
            .await
            .map_err(|_| Error::Overloaded)?;
        Ok((place, turn))
    }
}

fn hashed(password: &[u8]) -> Result<String, Error> {
    Argon2::default()
        .hash_password_with_salt(password, &random::bytes::<16>())
        .map(|hash| hash.to_string())
        .map_err(Error::Hash)
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if let Error::Overloaded = error {
            tracing::warn!("too many passwords are waiting to be hashed");
            return Self::new(
                ErrorCode::Overloaded,
                "Too many logins are waiting; try again shortly.",
            );
        }
        tracing::error!(
            error = runtime::error_chain::chain(&error),
            "could not hash a password"
        );
        Self::new(ErrorCode::Internal, ErrorCode::Internal.summary())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Password {
        Password::parse_alone(text.to_owned()).expect("long enough")
    }

    #[tokio::test]
    async fn only_the_password_itself_opens_its_hash() {
        let passwords = Passwords::new().expect("hashes");
        let hash = passwords
            .hash(password("correct horse"))
            .await
            .expect("a hash");
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        for (text, opens) in [("correct horse", true), ("correct horsf", false)] {
            let matches = passwords.check(text.to_owned(), Some(&hash)).await;
            assert_eq!(matches.expect("checked"), opens);
        }
        let nobody = passwords.check("correct horse".to_owned(), None).await;
        assert!(!nobody.expect("checked"));
    }

    #[tokio::test]
    async fn who_finds_no_place_is_refused_and_those_before_are_served() {
        let passwords = Passwords::new().expect("hashes");
        let places = u32::try_from(passwords.places.available_permits()).expect("few");
        let taken = Arc::clone(&passwords.places)
            .acquire_many_owned(places)
            .await;
        let refused = passwords.hash(password("correct horse")).await;
        assert!(matches!(refused, Err(Error::Overloaded)));
        drop(taken);
        assert!(passwords.hash(password("correct horse")).await.is_ok());
    }
}
