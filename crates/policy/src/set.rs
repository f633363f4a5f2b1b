//! A version of an organization's policies, ready to be asked.

use std::{collections::HashSet, sync::LazyLock};

use cedar_policy::{Policy, PolicyId, ffi::DetailedError};
use domain::fault::{Fault, FaultCode, pointer_to};
use sha2::{Digest, Sha256};

use crate::{
    annotations::Annotations,
    cost,
    evaluate::Condition,
    slice::{ACTIONS_MAX, Place, Slices, actions_named, is_unsliceable},
    text_limits,
    unrecorded_inputs::Looks,
    vocabulary::{self, Declaration, Vocabulary},
};

/// What answers, as it is recorded with every decision.
pub static ENGINE: LazyLock<String> = LazyLock::new(|| {
    let (sdk, language) = (
        cedar_policy::get_sdk_version(),
        cedar_policy::get_lang_version(),
    );
    format!(
        "cedar {sdk} (language {}.{})",
        language.major, language.minor
    )
});

/// How many policies may name neither an action nor a principal: each of them costs every question
/// one to ten microseconds.
pub const UNSLICEABLE_MAX: usize = 200;

/// How many faults of a text are told at a time.
pub const FAULTS_MAX: usize = 50;

/// Begins what is hashed, so that the digest of a set is no digest of anything else.
const DIGEST_DOMAIN: &str = "watchbell.policies.v1\n";

/// Policies, read and indexed.
#[derive(Debug)]
pub struct PolicySet {
    digest: String,
    cost: usize,
    pub(crate) slices: Slices,
    /// In the order of their ids, which is that of what is told.
    pub(crate) policies: Vec<Ready>,
    pub(crate) vocabulary: Option<Vocabulary>,
}

/// A policy, ready to be asked.
#[derive(Debug)]
pub(crate) struct Ready {
    pub condition: Condition,
    pub terms: Annotations,
}

/// Policies as Cedar read them, under the ids that they were given.
pub(crate) struct Parsed {
    pub policies: Vec<Named>,
    pub schema: Option<Declaration>,
}

/// A policy under its own id.
pub(crate) struct Named {
    pub policy: Policy,
    pub terms: Annotations,
    pub cost: usize,
    pub looks: Looks,
}

/// Whether bounds apply to texts, or those of their day did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    New,
    Saved,
}

impl PolicySet {
    /// Reads texts that somebody sent.
    pub fn read(policies: &str, schema: Option<&str>) -> Result<Self, Vec<Fault>> {
        Self::index(policies, schema, Age::New, Slices::add)
    }

    /// Reads texts that were checked when they were saved: they stay in force should a bound be lower by now.
    pub fn read_saved(policies: &str, schema: Option<&str>) -> Result<Self, Vec<Fault>> {
        Self::index(policies, schema, Age::Saved, Slices::add)
    }

    /// The same without an index: every question meets every policy. It is there to prove that the
    /// index changes no answer.
    pub fn read_whole(policies: &str, schema: Option<&str>) -> Result<Self, Vec<Fault>> {
        Self::index(policies, schema, Age::New, Slices::add_unsliced)
    }

    fn index(
        policies: &str,
        schema: Option<&str>,
        age: Age,
        add: impl Fn(&mut Slices, &Named, Place),
    ) -> Result<Self, Vec<Fault>> {
        let mut parsed = Parsed::read(policies, schema, age)?;
        let named = &mut parsed.policies;
        named.sort_unstable_by(|one, other| one.terms.id().cmp(other.terms.id()));
        let mut slices = Slices::default();
        for (place, named) in named.iter().enumerate() {
            add(&mut slices, named, place);
        }
        let ready = parsed.policies.into_iter().map(|named| Ready {
            condition: Condition::of(&named.policy),
            terms: named.terms,
        });
        let vocabulary = parsed.schema.map(Vocabulary::new).transpose()?;
        let cost = slices.cost_max(vocabulary.as_ref());
        if age == Age::New && cost > cost::COST_MAX {
            return Err(vec![too_dear(cost)]);
        }
        Ok(Self {
            cost,
            digest: digest(policies, schema),
            slices,
            policies: ready.collect(),
            vocabulary,
        })
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What the dearest question costs these policies, of [`cost::COST_MAX`]. It may be said too high, where
    /// policies name both principals and actions.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// How many policies there are.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// How much memory this takes, counted in policies of the usual kind: a policy is filed once for each
    /// action that it names, and a schema is kept too.
    pub fn weight(&self) -> usize {
        let actions = self.vocabulary.as_ref().map(|known| known.actions.len());
        self.policies.len().max(self.slices.places()) + actions.unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Parsed {
    pub fn read(policies: &str, schema: Option<&str>, age: Age) -> Result<Self, Vec<Fault>> {
        if age == Age::New {
            let faults = text_limits::faults(policies, schema);
            if !faults.is_empty() {
                return Err(faults);
            }
        }
        let mut faults = Vec::new();
        let schema = schema.and_then(|text| match vocabulary::read(text, age) {
            Ok(schema) => Some(schema),
            Err(wrong) => {
                faults.extend(wrong);
                None
            }
        });
        let policies = match policies.parse::<cedar_policy::PolicySet>() {
            Ok(parsed) => named(&parsed, policies, age, &mut faults),
            Err(error) => {
                faults.extend(faults_of(
                    &DetailedError::from(&error),
                    "/policies",
                    policies,
                ));
                Vec::new()
            }
        };
        if !faults.is_empty() {
            faults.truncate(FAULTS_MAX);
            return Err(faults);
        }
        Ok(Self { policies, schema })
    }
}

/// The policies under their own ids, in the order of the text.
fn named(
    parsed: &cedar_policy::PolicySet,
    text: &str,
    age: Age,
    faults: &mut Vec<Fault>,
) -> Vec<Named> {
    if let Some(template) = parsed.templates().next() {
        let name = template
            .annotation("id")
            .unwrap_or("a policy without an id");
        let detail = format!(
            "Slots such as ?principal cannot be filled here ({name}). Name the principal or resource."
        );
        faults.push(Fault::invalid("/policies", detail));
    }
    // Cedar numbers the policies of a text: `policy0`, `policy1` and so on.
    let number = |policy: &Policy| {
        let id: &str = policy.id().as_ref();
        id.trim_start_matches("policy")
            .parse()
            .unwrap_or(usize::MAX)
    };
    let mut numbered: Vec<(usize, &Policy)> = parsed
        .policies()
        .map(|policy| (number(policy), policy))
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    let mut seen = HashSet::new();
    let mut policies = Vec::with_capacity(numbered.len());
    let (mut unsliceable, mut actions) = (0, 0);
    let mut from = 0;
    for (number, policy) in numbered {
        let source = policy.to_cedar().unwrap_or_default();
        let at = text[from..]
            .find(&source)
            .map_or(from, |offset| from + offset);
        from = at + source.len();
        let place = || text_limits::line_and_column(text, at);
        match Annotations::read(policy, number, age, &place) {
            Err(fault) => faults.push(fault),
            Ok(terms) if !seen.insert(terms.id().to_owned()) => {
                let pointer = format!("/policies{}", pointer_to(terms.id()));
                let detail = format!(
                    "Two policies have this id; the second is at {}. Give it a different id.",
                    place()
                );
                faults.push(Fault::new(FaultCode::FieldDuplicated, pointer, detail));
            }
            Ok(terms) => {
                unsliceable += usize::from(is_unsliceable(policy));
                actions += actions_named(policy);
                policies.push(Named {
                    policy: policy.new_id(PolicyId::new(terms.id())),
                    terms,
                    cost: cost::of(&source),
                    looks: Looks::of_policy(&source),
                });
            }
        }
    }
    if age == Age::Saved {
        return policies;
    }
    if unsliceable > UNSLICEABLE_MAX {
        let detail = format!(
            "{unsliceable} policies name neither an action nor a principal, and the limit is {UNSLICEABLE_MAX}, \
             because every question is checked against each of them. Put `action == Action::\"...\"`, \
             `action in [...]` or `principal == Agent::\"...\"` into the scope of the others."
        );
        faults.push(Fault::invalid("/policies", detail));
    }
    if actions > ACTIONS_MAX {
        let detail = format!(
            "The scopes name {actions} actions in total, and the limit is {ACTIONS_MAX}. Name groups: \
             `action in Action::\"payments\"` covers everything that begins with `payments.`."
        );
        faults.push(Fault::invalid("/policies", detail));
    }
    policies
}

fn too_dear(cost: usize) -> Fault {
    let detail = format!(
        "The policies that can apply to one question cost {cost} in total, and the limit is {}. A `like` pattern costs its \
         length in bytes, and each operation on the question's values costs 4: `==` between two of them, `contains`, sets and \
         functions of them. Shorten patterns, or let policies name an action or a \
         principal in their scope, so that fewer of them apply to the same question.",
        cost::COST_MAX
    );
    Fault::invalid("/policies", detail)
}

/// What Cedar says is wrong, each with its place in the text.
pub(crate) fn faults_of(error: &DetailedError, pointer: &str, text: &str) -> Vec<Fault> {
    std::iter::once(error)
        .chain(&error.related)
        .map(|error| Fault::invalid(pointer, told(error, text)))
        .collect()
}

/// What Cedar says, where in the text, and what it advises.
pub(crate) fn told(error: &DetailedError, text: &str) -> String {
    let place = error.source_locations.first();
    let place =
        place.map(|label| format!(" ({})", text_limits::line_and_column(text, label.loc.start)));
    let help = error.help.as_ref().map(|help| format!(" {help}."));
    let told = format!(
        "{}{}.{}",
        error.message,
        place.unwrap_or_default(),
        help.unwrap_or_default()
    );
    crate::verdict::shorten(&told)
}

/// Names the texts of a version: `sha256:` and 64 hexadecimal digits. Two versions with the same digest
/// answer every question alike.
pub fn digest(policies: &str, schema: Option<&str>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(DIGEST_DOMAIN);
    hasher.update(format!("{}:", policies.len()));
    hasher.update(policies);
    if let Some(schema) = schema {
        hasher.update(format!("{}:", schema.len()));
        hasher.update(schema);
    }
    format!("sha256:{}", hex::encode(hasher.finalize()))
}
