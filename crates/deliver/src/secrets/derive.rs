//! The secret that an organization has from its first minute: derived from the deployment's, so that it needs no place to be
//! kept, and nobody who has one of them can make another's.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::OrgId;
use secrecy::{ExposeSecret as _, SecretString};

/// What is derived, so that nothing else that is ever derived is the same.
const PURPOSE: &str = "watchbell signing secret 1\n";

/// The organization's secret, of the form that Standard Webhooks libraries take.
pub fn derived(deployment: &SecretString, org: OrgId) -> SecretString {
    let key = Key::new(HMAC_SHA256, deployment.expose_secret().as_bytes());
    let secret = STANDARD.encode(sign(&key, format!("{PURPOSE}{org}").as_bytes()));
    SecretString::from(format!("whsec_{secret}"))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Receivers keep these: if this changes, every one of them refuses what is sent.
    #[test]
    fn an_organization_has_the_same_secret_for_ever_and_no_other_has_it() {
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let text = |deployment: &str, number| {
            let deployment = SecretString::from(deployment);
            derived(&deployment, org(number)).expose_secret().to_owned()
        };
        assert_eq!(
            text("whsec_b25l", 1),
            "whsec_32wY/UqeE7AfhrmRxzPXAECYpydD5xw38/zPrfgk6/A="
        );
        assert_ne!(text("whsec_b25l", 1), text("whsec_b25l", 2));
        assert_ne!(text("whsec_b25l", 1), text("whsec_dHdv", 1));
    }
}
