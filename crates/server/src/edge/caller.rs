//! Who is asking, as an argument: a handler that takes a [`Caller`] has a key or session that was
//! checked and has the scope the handler needs; one that takes a [`Member`] has a person of the role.

use std::marker::PhantomData;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use domain::{
    OrgId, SessionId, Timestamp, UserId,
    account::{Agents, Role, Scope},
    error_code::ErrorCode,
    event::Source,
};
use store::account_outbox::Hand;

use super::{
    Problem,
    identity::{Authority, Identity, identify, unauthenticated},
};

/// How much of an agent's name is repeated: as long as one may be. What is asked about is not checked yet.
const AGENT_CHARS_SHOWN: usize = 128;

/// A permission as a type, so that forgetting to check it does not compile.
pub trait Permission: Send + Sync {
    const SCOPE: Scope;
}

macro_rules! permissions {
    ($($name:ident),* $(,)?) => {$(
        #[derive(Debug)]
        pub struct $name;

        impl Permission for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )*};
}

permissions! {
    EventsWrite, EventsRead, EventsExport, RulesWrite, RulesRead, DeliveriesRead, DecisionsWrite,
    PoliciesWrite, PoliciesRead, ApprovalsWrite, ApprovalsRead,
}

/// An API key or a person that was checked for the permission `P`.
#[derive(Debug)]
pub struct Caller<P: Permission> {
    pub org: OrgId,
    pub identity: Identity,
    permission: PhantomData<P>,
}

impl<S: Authority, P: Permission> FromRequestParts<S> for Caller<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, plane: &S) -> Result<Self, Problem> {
        let identity = identify(parts, plane).await?;
        if !identity.allows(P::SCOPE) {
            let detail = match &identity {
                Identity::Key(_) => format!("This API key lacks the scope `{}`.", P::SCOPE),
                Identity::Session(session) => {
                    format!(
                        "The role `{}` does not include `{}`.",
                        session.role,
                        P::SCOPE
                    )
                }
            };
            return Err(Problem::new(ErrorCode::Forbidden, detail));
        }
        Ok(Self {
            org: identity.org(),
            identity,
            permission: PhantomData,
        })
    }
}

impl<P: Permission> Caller<P> {
    /// Who wrote an event that came with this request. People send none: what their sessions make happen is the
    /// server's doing.
    pub fn source(&self) -> Source {
        match &self.identity {
            Identity::Key(key) => Source::Key(key.id),
            Identity::Session(_) => Source::Server,
        }
    }

    /// Refuses what shows more than the permission `P` is for to somebody who may not see that.
    pub fn also_needs(&self, scopes: &[Scope]) -> Result<(), Problem> {
        let lacking = scopes.iter().find(|scope| !self.identity.allows(**scope));
        lacking.map_or(Ok(()), |scope| {
            let detail = format!("This also needs the scope `{scope}`.");
            Err(Problem::new(ErrorCode::Forbidden, detail))
        })
    }

    /// The agents that it speaks for. People are bound to none.
    pub fn agents(&self) -> &Agents {
        static ALL: Agents = Agents::ALL;
        match &self.identity {
            Identity::Key(key) => &key.agents,
            Identity::Session(_) => &ALL,
        }
    }

    /// Refuses what is asked in the name of an agent that the key does not speak for.
    pub fn speaks_for(&self, agent: &str) -> Result<(), Problem> {
        let agents = self.agents();
        if agents.include(agent) {
            return Ok(());
        }
        let agent: String = agent.chars().take(AGENT_CHARS_SHOWN).collect();
        let detail = format!(
            "This API key is bound to the agents {agents}, and `{agent}` is not one of them. Use that agent's own key, \
             or one that is bound to it."
        );
        Err(Problem::new(ErrorCode::Forbidden, detail))
    }
}

/// What a person must at least be, as a type.
pub trait AtLeast: Send + Sync {
    fn admits(role: Role) -> bool;
    const NEEDED: &'static str;
}

/// Anybody who belongs to the organization.
#[derive(Debug)]
pub struct Anybody;

/// An admin or an owner.
#[derive(Debug)]
pub struct Admin;

/// An owner.
#[derive(Debug)]
pub struct Owner;

impl AtLeast for Anybody {
    const NEEDED: &'static str = "any role";

    fn admits(_: Role) -> bool {
        true
    }
}

impl AtLeast for Admin {
    const NEEDED: &'static str = "the role `admin` or `owner`";

    fn admits(role: Role) -> bool {
        role.may_manage()
    }
}

impl AtLeast for Owner {
    const NEEDED: &'static str = "the role `owner`";

    fn admits(role: Role) -> bool {
        role == Role::Owner
    }
}

/// A person who is logged in and has the role `R` or a higher one. An API key is no person.
#[derive(Debug)]
pub struct Member<R: AtLeast> {
    pub org: OrgId,
    pub user: UserId,
    pub session: SessionId,
    at_least: PhantomData<R>,
}

impl<R: AtLeast> Member<R> {
    /// Whose hand changes something now.
    pub fn hand(&self, now: Timestamp) -> Hand {
        Hand {
            org: self.org,
            user: self.user,
            at: now,
        }
    }
}

impl<S: Authority, R: AtLeast> FromRequestParts<S> for Member<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, plane: &S) -> Result<Self, Problem> {
        let session = match identify(parts, plane).await {
            Ok(Identity::Session(session)) => session,
            Ok(Identity::Key(_)) => {
                let detail = "An API key cannot do this; log in as a person (POST /v1/auth/login).";
                return Err(Problem::new(ErrorCode::Forbidden, detail));
            }
            Err(problem) if problem.code() != ErrorCode::Unauthenticated => return Err(problem),
            Err(problem) if parts.headers.contains_key(header::AUTHORIZATION) => {
                return Err(problem);
            }
            Err(_) => return Err(unauthenticated("Log in first (POST /v1/auth/login).")),
        };
        if !R::admits(session.role) {
            let detail = format!("This needs {}; yours is `{}`.", R::NEEDED, session.role);
            return Err(Problem::new(ErrorCode::Forbidden, detail));
        }
        Ok(Self {
            org: session.org,
            user: session.user,
            session: session.session,
            at_least: PhantomData,
        })
    }
}
