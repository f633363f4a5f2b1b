//! The starter and the templates do what they say, and the starter never changes.

use policy::{check::check, set::digest, starter, templates::TEMPLATES};

#[test]
fn the_starter_is_what_it_always_was() {
    assert_eq!(
        digest(starter::POLICIES, None),
        "sha256:a4894857f693b002f861552e9327ca38feb8b3cf7bddd794d9648771284195f6",
        "decisions were recorded under the old digest"
    );
}

#[test]
fn every_template_does_what_its_tests_say() {
    for template in TEMPLATES {
        let policies = format!("{}{}", starter::POLICIES, template.policies);
        let tests = template.tests();
        let report = check(&policies, None, &tests);
        assert_eq!(report.errors, [], "{}", template.id);
        assert!(tests.len() >= 3, "{} is not shown to differ", template.id);
        for result in report.tests {
            assert!(result.passed, "{}: {result:#?}", template.id);
        }
    }
}
