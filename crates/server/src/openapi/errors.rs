//! Which error codes each operation can answer, as one response for each status.
//!
//! Most codes follow from what an operation takes: whoever must say who they are can be refused, a body can be unreadable,
//! a parameter can be wrong. What only its handler can say is in [`super::own_errors`].

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use domain::error_code::ErrorCode::{
    self, CrossSite, Forbidden, IdempotencyMismatch, Internal, InvalidBody, InvalidParameter,
    JournalUnavailable, NotFound, Overloaded, PayloadTooLarge, PreconditionFailed, RateLimited,
    RequestTimeout, StoreUnavailable, Unauthenticated, UnsupportedMediaType, ValidationFailed,
};
use utoipa::{
    Modify,
    openapi::{
        AllOfBuilder, ContentBuilder, Object, ObjectBuilder, OneOfBuilder, OpenApi, Ref, RefOr,
        Response, ResponseBuilder, Schema, Type,
        path::{Operation, Parameter, ParameterIn, PathItem},
        security::SecurityRequirement,
    },
};

use super::own_errors;

/// Whoever is asked who they are: the key or session is unknown, may not do this, or asks too often. A key that a node has
/// not met is looked for in the journal.
const CALLER: &[ErrorCode] = &[
    Unauthenticated,
    Forbidden,
    RateLimited,
    RequestTimeout,
    JournalUnavailable,
];
/// Sessions are in PostgreSQL, and so is what people may do.
const SESSION: &[ErrorCode] = &[StoreUnavailable];
const BODY: &[ErrorCode] = &[
    InvalidBody,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
    RequestTimeout,
    Overloaded,
];
/// AuthZEN has one status for whatever is wrong with a body.
const AUTHZEN_BODY: &[ErrorCode] = &[InvalidBody, PayloadTooLarge, RequestTimeout, Overloaded];
const IDEMPOTENCY_KEY: &[ErrorCode] = &[InvalidParameter, IdempotencyMismatch];
const IF_MATCH: &[ErrorCode] = &[InvalidParameter, PreconditionFailed];

/// The codes of an operation, in the order of their list.
pub(super) fn codes(method: &Method, path: &str, operation: &Operation) -> Vec<ErrorCode> {
    if is_of_the_node(path) {
        return Vec::new();
    }
    let security = operation.security.iter().flatten();
    let takes_session = security.clone().any(|one| *one == session());
    let is_public = security.count() == 0;
    let mut codes = own_errors::of(operation.operation_id.as_deref().unwrap_or_default()).to_vec();
    codes.push(Internal);
    if !is_public {
        codes.extend(CALLER);
    }
    if takes_session {
        codes.extend(SESSION);
    }
    // Without `Authorization`, so also where nobody is asked who they are.
    if *method != Method::GET && (takes_session || is_public) {
        codes.push(CrossSite);
    }
    if operation.request_body.is_some() {
        let is_authzen = path.starts_with("/access/");
        codes.extend(if is_authzen { AUTHZEN_BODY } else { BODY });
    }
    for parameter in operation.parameters.iter().flatten() {
        codes.extend(of_parameter(parameter));
    }
    let all = ErrorCode::ALL.iter().copied();
    all.filter(|code| codes.contains(code)).collect()
}

fn of_parameter(parameter: &RefOr<Parameter>) -> &'static [ErrorCode] {
    let RefOr::T(parameter) = parameter else {
        return &[];
    };
    match (&parameter.parameter_in, parameter.name.as_str()) {
        (ParameterIn::Path, _) => &[NotFound],
        // The link of a file works or does not.
        (ParameterIn::Query, "expires" | "signature") => &[],
        (ParameterIn::Query, _) => &[InvalidParameter],
        (_, "Idempotency-Key") => IDEMPOTENCY_KEY,
        (_, "If-Match") => IF_MATCH,
        _ => &[],
    }
}

/// The operations of a path.
pub(super) fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let operations = [
        (Method::GET, &mut item.get),
        (Method::POST, &mut item.post),
        (Method::PUT, &mut item.put),
        (Method::PATCH, &mut item.patch),
        (Method::DELETE, &mut item.delete),
    ];
    operations
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Describes the errors of every operation. Responses and bodies that several operations share are described once: a
/// generator of clients makes one type of each.
pub(super) struct ErrorResponses;

impl Modify for ErrorResponses {
    fn modify(&self, openapi: &mut OpenApi) {
        let mut described = BTreeMap::new();
        for (path, item) in &mut openapi.paths.paths {
            for (method, operation) in operations(item) {
                let mut by_status = BTreeMap::<u16, Vec<ErrorCode>>::new();
                for code in codes(&method, path, operation) {
                    by_status.entry(code.status()).or_default().push(code);
                }
                for (status, codes) in by_status {
                    let name = response_name(&codes);
                    let reference = Ref::from_response_name(&name);
                    let responses = &mut operation.responses.responses;
                    responses.insert(status.to_string(), RefOr::Ref(reference));
                    described.insert(name, codes);
                }
            }
        }
        let components = openapi.components.get_or_insert_with(Default::default);
        let used: BTreeSet<&str> = described
            .values()
            .flatten()
            .map(|code| code.as_str())
            .collect();
        for code in ErrorCode::ALL {
            if used.contains(code.as_str()) {
                components
                    .schemas
                    .insert(problem_name(*code), problem(*code));
            }
        }
        for (name, codes) in &described {
            components
                .responses
                .insert(name.clone(), RefOr::T(response(codes)));
        }
    }
}

/// How handlers say that they take a session.
fn session() -> SecurityRequirement {
    SecurityRequirement::new::<_, [&str; 0], _>("session", [])
}

/// What every node answers, whatever its roles: nothing that can fail.
fn is_of_the_node(path: &str) -> bool {
    path.starts_with("/healthz/") || path == "/metrics"
}

/// `ForbiddenOrCrossSite`.
fn response_name(codes: &[ErrorCode]) -> String {
    let names: Vec<String> = codes.iter().map(|code| format!("{code:?}")).collect();
    names.join("Or")
}

/// `ForbiddenProblem`.
fn problem_name(code: ErrorCode) -> String {
    format!("{code:?}Problem")
}

/// A problem whose code is known.
fn problem(code: ErrorCode) -> RefOr<Schema> {
    let word = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([code.as_str()]));
    let narrow = Object::builder()
        .schema_type(Type::Object)
        .property("code", word)
        .required("code");
    let both = AllOfBuilder::new()
        .item(Ref::from_schema_name("Problem"))
        .item(narrow)
        .description(Some(code.summary()));
    both.into()
}

fn response(codes: &[ErrorCode]) -> Response {
    let about = |code: &ErrorCode| format!("`{}`: {}", code.as_str(), code.title());
    let description: Vec<String> = codes.iter().map(about).collect();
    let reference = |code: &ErrorCode| Ref::from_schema_name(problem_name(*code));
    let schema: RefOr<Schema> = match codes {
        [only] => reference(only).into(),
        several => {
            let items = several.iter().map(reference);
            items.fold(OneOfBuilder::new(), OneOfBuilder::item).into()
        }
    };
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new()
        .description(description.join("; "))
        .content("application/problem+json", content)
        .build()
}
