//! Language semantics that the kernels themselves do not exercise.

use std::sync::Arc;

use crate::cpu::compiler;
use crate::cpu::module::{Call, Code};
use crate::cpu::processor::target;
use crate::cpu::queue::Work;

/// The content of `y` after running `body` for the indices 0 to 3, with `a` = 0.5 and `n` =
/// -7.
fn run(body: &str) -> [f32; 4] {
    let source = format!("KERNEL void k(GLOBAL float *y, float a, int n) {{ {body} }}");
    let isa = target().expect("this processor is supported");
    let mut units = compiler::build(&source, &*isa).expect("the source is right");
    compiler::optimise(&mut units, &*isa).expect("it can be optimised");
    let object = compiler::emit(&units, &*isa).expect("it has machine code");
    let code = Arc::new(Code::load(&object).expect("it can be loaded"));
    let mut y = [0.0; 4];
    let slots = [
        y.as_mut_ptr() as u64,
        u64::from(0.5f32.to_bits()),
        u64::from((-7i32).cast_unsigned()),
    ];
    // SAFETY: the slots have the types that the source above declares; no body below
    // touches more than four elements, and `y` outlives the call, which is not queued.
    let call = unsafe { Call::new(Arc::clone(&code), &object.symbols[0], slots.into()) };
    call.run(0, 4);
    y
}

#[test]
fn arithmetic_follows_c() {
    for (expression, value) in [
        ("7 / 2 + 0.0f", 3.0),
        ("n / 2", -3.0),
        ("n % 3", -1.0),
        ("n / a", -14.0),
        ("-n - -a", 7.5),
        ("- - 2", 2.0),
        ("1 - 2 - 3", -4.0),
        ("2147483647 + 1", -2_147_483_648.0),
        ("1.5e3f", 1500.0),
    ] {
        let found = run(&format!("y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn comparisons_are_numbers() {
    for (expression, value) in [
        ("n < 0", 1.0),
        ("n <= -7", 1.0),
        ("n > -7", 0.0),
        ("n >= -7", 1.0),
        ("n == -7", 1.0),
        ("n != -7", 0.0),
        ("a < 1", 1.0),
        ("a <= 0.4f", 0.0),
        ("a > 0", 1.0),
        ("a >= 0.5f", 1.0),
        ("a == 0.5f", 1.0),
        ("a != a", 0.0),
        ("(n < 0) + (a > 0) * 2", 3.0),
    ] {
        let found = run(&format!("y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn with_nan_only_unequal_is_true() {
    let nan = "float z = 0.0f / 0.0f;";
    for (expression, value) in [
        ("z < z", 0.0),
        ("z <= z", 0.0),
        ("z > z", 0.0),
        ("z >= z", 0.0),
        ("z == z", 0.0),
        ("z != z", 1.0),
    ] {
        let found = run(&format!("{nan} y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn a_division_never_traps() {
    let smallest = "int least = -2147483647 - 1; int zero = n + 7; int minus = n + 6;";
    for (expression, value) in [
        ("least / minus", -2_147_483_648.0),
        ("least % minus", 0.0),
        ("5 / zero * 0", 0.0),
        ("5 % zero * 0", 0.0),
        ("5 / 0 * 0", 0.0),
    ] {
        let found = run(&format!("{smallest} y[GLOBAL_ID] = {expression};"));
        assert_eq!(found, [value; 4], "{expression}");
    }
}

#[test]
fn branches_follow_their_conditions() {
    let body = "int i = GLOBAL_ID;
        if (i == 0) { y[i] = 10; } else if (i % 2 == 0) { y[i] = 20; } else { y[i] = 30; }";
    assert_eq!(run(body), [10.0, 30.0, 20.0, 30.0]);
}

#[test]
fn inner_names_shadow_outer_ones() {
    let body = "int i = GLOBAL_ID; float v = 1.0f;
        { float v = 2.0f; v = v + 1; y[i] = v; }
        for (int v = 0; v < 3; v = v + 1) { y[i] = y[i] + v; }
        y[i] = y[i] * 10 + v;";
    assert_eq!(run(body), [61.0; 4]);
}

#[test]
fn each_index_has_its_own_parameters() {
    let body = "n = n + 1; a = a * 2; y[GLOBAL_ID] = n + a;";
    assert_eq!(run(body), [-5.0; 4]);
}

#[test]
fn a_loop_may_run_zero_times() {
    let body = "float v = 4; for (int k = 0; k < n; k = k + 1) { v = 0; } y[GLOBAL_ID] = v;";
    assert_eq!(run(body), [4.0; 4]);
}
