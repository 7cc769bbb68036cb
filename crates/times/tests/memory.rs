//! How much memory reading takes: what is kept, and no more.

use preheat_times::{Settings, read};

#[path = "../../trace/tests/support/memory.rs"]
mod memory;

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

#[test]
fn much_that_is_passed_over_takes_no_memory() {
    let long = "x".repeat(32 << 20);
    let config = format!("{{\"config\": \"{long}\", \"wallclock_times\": {{\"a\": [[1, 2, 3]]}}}}");
    let counts = "[1, null, true, \"a\"], ".repeat(1 << 20);
    let counts =
        format!("{{\"counts\": [{counts} 1], \"wallclock_times\": {{\"a\": [[1, 2, 3]]}}}}");
    let blanks = " \n".repeat(8 << 20) + "[1, 2, 3]";
    for text in [config, counts, blanks] {
        let (result, peak) =
            memory::peak_of(|| read(text.as_bytes(), &Settings::default(), &mut |_, _| {}));
        result.unwrap();
        assert!(peak < 1 << 20, "{peak} bytes");
    }
}
