//! Programs that a test needs and that a machine may lack.

/// Says that a test was skipped because `tool` is not there; fails instead where
/// `PREHEAT_TEST_REQUIRE` names it, so that a build can insist.
pub fn missing(tool: &str, sentence: &str) {
    let required = std::env::var("PREHEAT_TEST_REQUIRE").unwrap_or_default();
    let insisted = required.split([',', ' ']).any(|word| word == tool);
    assert!(
        !insisted,
        "{sentence}, and PREHEAT_TEST_REQUIRE asks for it"
    );
    println!("skipped: {sentence}");
}
