//! Where an organization's policies stand: which version is active, which is only watched, what was before,
//! and the changes that lead from one standing to the next.
//!
//! Versions are numbered without gaps and never change. Version [`STARTER`] is there from the beginning and
//! is the same for everybody; an organization's own count from the next.

use crate::{
    OrgId, Timestamp,
    guard::Settings,
    id::{Tail, derived},
};

/// The `event_type` of the event that says that policies were changed.
pub const EVENT_TYPE: &str = "policy_change";

/// The version that nobody wrote.
pub const STARTER: u32 = 1;

/// Where an organization's policies stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyState {
    pub newest_version: u32,
    pub active: Placed,
    /// The version that was active before, until somebody goes back to it.
    pub previous: Option<u32>,
    /// The version that is asked too and not obeyed.
    pub shadow: Option<Placed>,
    pub settings: Settings,
    /// How many changes led here.
    pub changes: u32,
}

/// A version in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub version: u32,
    /// `None`: from the beginning.
    pub since: Option<Timestamp>,
    /// The key or the person that put it there.
    pub by: Option<String>,
}

/// Who changes something, and when.
#[derive(Clone, Copy, Debug)]
pub struct Hand<'h> {
    /// The key or the person.
    pub by: &'h str,
    pub at: Timestamp,
}

/// The next standing, and what was done to come to it; nothing, if all is as it was wanted already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub standing: PolicyState,
    pub done: Vec<Done>,
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Counts an organization's changes from 1.
    pub number: u32,
    pub what: What,
    /// The version that it was done to.
    pub version: Option<u32>,
    /// Of an activation: the version that was active until then.
    pub instead_of: Option<u32>,
    /// The settings, if it was they that changed.
    pub settings: Option<Settings>,
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    VersionCreated,
    Activated,
    RolledBack,
    ShadowStarted,
    ShadowStopped,
    SettingsChanged,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    NoSuchVersion,
    /// Another version is active than the one that was expected: this one.
    Overtaken(u32),
    /// There is no version to go back to.
    NothingBefore,
    /// What is active already need not be watched.
    Active,
}

/// The starter, and nothing done yet.
impl Default for PolicyState {
    fn default() -> Self {
        Self {
            newest_version: STARTER,
            active: Placed {
                version: STARTER,
                since: None,
                by: None,
            },
            previous: None,
            shadow: None,
            settings: Settings::default(),
            changes: 0,
        }
    }
}

impl PolicyState {
    /// There is a version more.
    pub fn with_a_version(&self) -> Moved {
        let mut moved = self.unchanged();
        moved.standing.newest_version += 1;
        let made = moved.standing.newest_version;
        moved.add(What::VersionCreated).version = Some(made);
        moved
    }

    /// Puts a version in force. If it was only watched, that is over.
    pub fn activate(
        &self,
        version: u32,
        expect_active: Option<u32>,
        hand: Hand<'_>,
    ) -> Result<Moved, Refused> {
        self.check_exists(version)?;
        // Whoever sends the request again gets what they wanted.
        if self.active.version == version {
            return Ok(self.unchanged());
        }
        self.check_active(expect_active)?;
        let mut moved = self.with_active(What::Activated, version, hand);
        moved.standing.previous = Some(self.active.version);
        Ok(moved)
    }

    /// Puts the version in force that was active before. There is no way back from that but to activate: a
    /// request that is sent twice must not undo itself.
    pub fn roll_back(&self, expect_active: Option<u32>, hand: Hand<'_>) -> Result<Moved, Refused> {
        self.check_active(expect_active)?;
        let previous = self.previous.ok_or(Refused::NothingBefore)?;
        let mut moved = self.with_active(What::RolledBack, previous, hand);
        moved.standing.previous = None;
        Ok(moved)
    }

    /// Has a version watched.
    pub fn start_shadow(&self, version: u32, hand: Hand<'_>) -> Result<Moved, Refused> {
        self.check_exists(version)?;
        if self.active.version == version {
            return Err(Refused::Active);
        }
        let mut moved = self.unchanged();
        if self.shadow_version() != Some(version) {
            moved.standing.shadow = Some(Placed::new(version, hand));
            moved.add(What::ShadowStarted).version = Some(version);
        }
        Ok(moved)
    }

    pub fn stop_shadow(&self) -> Moved {
        let mut moved = self.unchanged();
        if let Some(shadow) = moved.standing.shadow.take() {
            moved.add(What::ShadowStopped).version = Some(shadow.version);
        }
        moved
    }

    pub fn with_settings(&self, settings: Settings) -> Moved {
        let mut moved = self.unchanged();
        if self.settings != settings {
            moved.standing.settings = settings;
            moved.add(What::SettingsChanged).settings = Some(settings);
        }
        moved
    }

    pub fn shadow_version(&self) -> Option<u32> {
        self.shadow.as_ref().map(|shadow| shadow.version)
    }

    fn with_active(&self, what: What, version: u32, hand: Hand<'_>) -> Moved {
        let mut moved = self.unchanged();
        moved.standing.active = Placed::new(version, hand);
        let done = moved.add(what);
        done.version = Some(version);
        done.instead_of = Some(self.active.version);
        if self.shadow_version() == Some(version) {
            moved.standing.shadow = None;
            moved.add(What::ShadowStopped).version = Some(version);
        }
        moved
    }

    fn unchanged(&self) -> Moved {
        Moved {
            standing: self.clone(),
            done: Vec::new(),
        }
    }

    fn check_exists(&self, version: u32) -> Result<(), Refused> {
        let exists = (STARTER..=self.newest_version).contains(&version);
        exists.then_some(()).ok_or(Refused::NoSuchVersion)
    }

    fn check_active(&self, expected: Option<u32>) -> Result<(), Refused> {
        let active = self.active.version;
        let is_expected = expected.is_none_or(|expected| expected == active);
        is_expected.then_some(()).ok_or(Refused::Overtaken(active))
    }
}

impl Moved {
    fn add(&mut self, what: What) -> &mut Done {
        self.standing.changes += 1;
        self.done.push(Done {
            number: self.standing.changes,
            what,
            version: None,
            instead_of: None,
            settings: None,
        });
        self.done.last_mut().expect("one was just pushed")
    }
}

impl Placed {
    fn new(version: u32, hand: Hand<'_>) -> Self {
        Self {
            version,
            since: Some(hand.at),
            by: Some(hand.by.to_owned()),
        }
    }
}

impl What {
    pub const ALL: [Self; 6] = [
        Self::VersionCreated,
        Self::Activated,
        Self::RolledBack,
        Self::ShadowStarted,
        Self::ShadowStopped,
        Self::SettingsChanged,
    ];

    /// The `action` of the audit event.
    pub fn action(self) -> &'static str {
        match self {
            Self::VersionCreated => "policy.version_created",
            Self::Activated => "policy.activated",
            Self::RolledBack => "policy.rolled_back",
            Self::ShadowStarted => "policy.shadow_started",
            Self::ShadowStopped => "policy.shadow_stopped",
            Self::SettingsChanged => "policy.settings_changed",
        }
    }
}

/// What makes the id of the event that says that an organization's policies were changed for the so manieth
/// time, beside its time: recorded again it is the same event. No `client_event_id` has a NUL, so none makes the
/// same.
pub fn event_tail(org: OrgId, number: u32) -> Tail {
    let cause = format!("\0policies\0{number}");
    Tail::Derived(derived(org.uuid().as_bytes(), cause.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::FailMode;

    const HAND: Hand<'_> = Hand {
        by: "key_1",
        at: Timestamp::from_unix_millis(1_794_735_000_000),
    };

    /// With this many versions.
    fn versions(newest: u32) -> PolicyState {
        let mut standing = PolicyState::default();
        while standing.newest_version < newest {
            standing = standing.with_a_version().standing;
        }
        standing
    }

    fn whats(moved: &Moved) -> Vec<What> {
        moved.done.iter().map(|done| done.what).collect()
    }

    #[test]
    fn a_version_is_activated_and_the_one_before_is_a_step_away_once() {
        let first = versions(3).activate(2, None, HAND).expect("activated");
        assert_eq!(first.done[0].instead_of, Some(STARTER));
        let second = first.standing.activate(3, Some(2), HAND);
        let second = second.expect("activated").standing;
        let overtaken = second.activate(2, Some(2), HAND);
        assert_eq!(overtaken, Err(Refused::Overtaken(3)));
        assert_eq!(second.roll_back(Some(2), HAND), Err(Refused::Overtaken(3)));
        let back = second.roll_back(Some(3), HAND).expect("rolled back");
        assert_eq!(whats(&back), [What::RolledBack]);
        assert_eq!(back.standing.active.version, 2);
        let again = back.standing.roll_back(None, HAND);
        assert_eq!(again, Err(Refused::NothingBefore));
        assert_eq!(back.standing.changes, 5);
    }

    #[test]
    fn what_is_wanted_already_is_no_change_and_what_does_not_exist_is_refused() {
        let standing = versions(2);
        let same = standing.activate(STARTER, Some(9), HAND).expect("as it is");
        assert!(same.done.is_empty() && same.standing == standing);
        assert!(standing.stop_shadow().done.is_empty());
        let settings = standing.settings;
        assert!(standing.with_settings(settings).done.is_empty());
        for version in [0, 3] {
            let refused = Err(Refused::NoSuchVersion);
            assert_eq!(standing.activate(version, None, HAND), refused);
            assert_eq!(standing.start_shadow(version, HAND), refused);
        }
    }

    #[test]
    fn a_shadow_ends_when_it_is_stopped_or_becomes_the_active_one() {
        let standing = versions(3);
        assert_eq!(standing.start_shadow(STARTER, HAND), Err(Refused::Active));
        let watched = standing.start_shadow(2, HAND).expect("watched").standing;
        let again = watched.start_shadow(2, HAND).expect("watched");
        assert!(again.done.is_empty(), "it goes on as it was");
        assert_eq!(whats(&watched.stop_shadow()), [What::ShadowStopped]);
        let active = watched.activate(2, None, HAND).expect("activated");
        assert_eq!(whats(&active), [What::Activated, What::ShadowStopped]);
        let numbers: Vec<u32> = active.done.iter().map(|done| done.number).collect();
        assert_eq!(numbers, [4, 5]);
        let other = watched.activate(3, None, HAND).expect("activated");
        assert_eq!(other.standing.shadow_version(), Some(2));
    }

    #[test]
    fn settings_are_changed_whole() {
        let open = Settings {
            fail_mode: FailMode::Open,
            ..Settings::default()
        };
        let moved = PolicyState::default().with_settings(open);
        assert_eq!(moved.done[0].settings, Some(open));
        assert_eq!(moved.standing.settings, open);
    }
}
