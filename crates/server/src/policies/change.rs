//! Saves what people decide about their policies, makes it known to every node, and tells the trail.

use domain::{
    OrgId,
    error_code::ErrorCode,
    guard::Guard,
    policy_state::{Hand, Moved, PolicyState, Refused},
};
use journal::kv::Change;
use store::policies::versions::{Added, Version, Written};

use super::starter;
use crate::{
    announce, change_outbox,
    edge::{Caller, Problem, caller::PoliciesWrite},
    planes::ControlPlane,
};

/// Who asks for changes.
pub(super) struct Author<'a> {
    plane: &'a ControlPlane,
    org: OrgId,
    /// The key or the person.
    by: String,
}

/// What became of a version that somebody wrote.
pub(super) enum Kept {
    Anew(Box<Version>),
    /// It is there already, as this one.
    AlreadyAs(u32),
}

impl<'a> Author<'a> {
    pub(super) fn of(plane: &'a ControlPlane, caller: &Caller<PoliciesWrite>) -> Self {
        Self {
            plane,
            org: caller.org,
            by: caller.identity.counted_as(),
        }
    }

    /// Takes a step; returns when every node knows of it.
    pub(super) async fn change(
        &self,
        decide: impl FnOnce(&PolicyState, Hand<'_>) -> Result<Moved, Refused>,
    ) -> Result<PolicyState, Problem> {
        let (org, hand) = (self.org, self.hand());
        let announcement = |guard: &Guard| announce::entry(Change::guard_saved(org, guard));
        let decide = |standing: &PolicyState| decide(standing, hand);
        let store = &self.plane.store;
        let changed = store
            .change_policies(org, hand, starter::text(), decide, announcement)
            .await?;
        let changed = changed.map_err(refusal)?;
        let saved = || {
            "The change was saved and takes effect once the journal is back. Do not send it again; GET \
             /v1/policies shows it."
                .to_owned()
        };
        // Also if nothing changed: whoever sends a change again because they were told to wait may wait here.
        self.plane.announce(saved).await?;
        for told in &changed.told {
            change_outbox::publish(self.plane, told).await;
        }
        Ok(changed.standing)
    }

    /// Keeps a version that was checked.
    pub(super) async fn write(&self, written: Written) -> Result<Kept, Problem> {
        let most = self.plane.policy_versions_max;
        let store = &self.plane.store;
        let added = store
            .add_policy_version(self.org, self.hand(), &starter::written(), written, most)
            .await?;
        match added {
            Added::Made(version, told) => {
                change_outbox::publish(self.plane, &*told).await;
                Ok(Kept::Anew(version))
            }
            Added::Same(version) => Ok(Kept::AlreadyAs(version)),
            Added::Full => {
                let detail = format!(
                    "Your organization already has {most} versions of its policies and cannot have more: versions are \
                     never deleted, because decisions name the version that made them. The operator can raise \
                     `policies.versions_per_org_max`."
                );
                Err(Problem::new(ErrorCode::LimitReached, detail))
            }
        }
    }

    fn hand(&self) -> Hand<'_> {
        Hand {
            by: &self.by,
            at: self.plane.clock.now(),
        }
    }
}

/// What a client is told of a version that there is not.
pub(super) fn no_such_version() -> Problem {
    Problem::not_found("policy version")
}

fn refusal(refused: Refused) -> Problem {
    let detail = match refused {
        Refused::NoSuchVersion => return no_such_version(),
        Refused::Overtaken(active) => format!(
            "Version {active} is active, not the one you expect. Look at what it changes (GET \
             /v1/policies/versions/{active}), then send the request again with `\"expect_active\": {active}`."
        ),
        Refused::NothingBefore => {
            "There is no version to roll back to: nothing has been activated since the last rollback. Activate the \
             version you want (POST /v1/policies/versions/{version}/activate)."
                .to_owned()
        }
        Refused::Active => {
            "This version is active, so there is nothing to compare it with. Watch a different one.".to_owned()
        }
    };
    Problem::new(ErrorCode::StateConflict, detail)
}
