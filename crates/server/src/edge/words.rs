//! Texts of which there are few: what the API document says they can be, from the lists that decide.

use domain::{
    account::Role,
    delivery::{Reason, State, Trigger},
};
use policy::Verdict;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $all:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let object = ObjectBuilder::new().schema_type(Type::String);
                object.enum_values(Some($all.map(|one| one.as_str()))).into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

words! {
    /// Where a delivery stands.
    DeliveryState = State::ALL;
    /// Why a delivery is held, failed or canceled.
    DeliveryReason = Reason::ALL;
    /// Why an attempt was made.
    AttemptTrigger = Trigger::ALL;
    /// What is decided.
    DecisionWord = Verdict::ALL;
    /// What part a person plays.
    MemberRole = Role::ALL;
}
