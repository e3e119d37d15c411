//! The emulator runs what is right, in any order, and finds each kind of mistake.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use isopel_kernels_on_host::{Access, Memory, Mistake, Order, launch};

const THREADS: usize = 64;
const ORDERS: [Order; 4] = [Order::Forwards, Order::Backwards, Order::Shuffled(1), Order::Shuffled(77)];

/// `Cases` of misuse.cu, and its memory.
struct Cases {
    memory: Memory,
    words: u64,
    parameter: Vec<u8>,
}

fn cases(mistake: u32) -> Cases {
    let mut memory = Memory::new();
    let [words, constants, fresh] = [4 * THREADS, 4 * THREADS, 4].map(|len| memory.allocate(len));
    memory.allow("words", words, 4 * THREADS, Access::WriteOnce);
    memory.allow("constants", constants, 4 * THREADS, Access::Read);
    memory.allow("fresh", fresh, 4, Access::ReadWrite);
    for own in 0..THREADS as u64 {
        memory.upload(constants + 4 * own, &(own as u32 + 1).to_ne_bytes());
    }
    let numbers = [words, constants, fresh, mistake.into()];
    Cases { memory, words, parameter: numbers.into_iter().flat_map(u64::to_ne_bytes).collect() }
}

impl Cases {
    fn run(&mut self, kernel: &str, order: Order) -> Result<(), Mistake> {
        launch(kernel, 1, (THREADS as u32, 1), &self.parameter, &mut self.memory, order)
    }
}

#[test]
fn what_is_right_gives_the_same_in_any_order() {
    let sums: Vec<u8> = (1..=THREADS as u32).flat_map(|own| (own * (own + 1) / 2).to_ne_bytes()).collect();
    for order in ORDERS {
        let mut cases = cases(0);
        cases.memory.upload(u64::from_ne_bytes(cases.parameter[16..24].try_into().unwrap()), &[0; 4]);
        cases.run("shares_in_order", order).unwrap();
        assert_eq!(cases.memory.bytes(cases.words, 4 * THREADS), sums, "{order:?}");
        let again = cases.run("shares_in_order", order).unwrap_err().to_string();
        assert!(again.contains("of words once more"), "{again}");
    }
}

#[test]
fn every_mistake_is_found_in_any_order() {
    let mistakes = [
        "reads 4 bytes, 0 behind the end of constants",
        "reads 4 bytes",
        "writes constants, which is not for that",
        "reads byte 0 of fresh, which nobody has written",
        "waits in vain: at __syncthreads, while thread 5 is: ended",
        "waits in vain: __ballot_sync, while thread 0 is: ended",
        "does not name the thread's own lane 0",
        "names lane 8, which has ended",
        "takes from lane 9, which mask 0xff does not name",
        "__syncwarp of mask",
        "with no barrier between",
        "with no barrier between",
        "reads shared memory that its block has not written",
        "a shift by too much, ",
        "a sum that overflows, ",
        "an access that is not aligned, ",
        "with no barrier between",
        "an index out of bounds, ",
    ];
    for (mistake, expected) in (1..).zip(mistakes) {
        for order in ORDERS {
            let found = cases(mistake).run("misuses", order).unwrap_err().to_string();
            assert!(found.starts_with("misuses, block 0, thread "), "{found}");
            assert!(found.contains(expected), "mistake {mistake}, {order:?}: {found}");
        }
    }
    for order in ORDERS {
        cases(0).run("misuses", order).unwrap();
    }
}

#[test]
fn mistakes_of_sources_have_their_line() {
    let found = cases(14).run("misuses", Order::Forwards).unwrap_err().to_string();
    assert!(found.contains("misuse.cu:"), "{found}");
}

#[test]
#[should_panic(expected = "overlaps")]
fn parts_do_not_overlap() {
    let mut memory = Memory::new();
    let address = memory.allocate(100);
    memory.allow("one", address, 60, Access::Read);
    memory.allow("other", address + 59, 41, Access::Read);
}

#[test]
#[should_panic(expected = "inside an allocation")]
fn parts_are_inside_allocations() {
    let mut memory = Memory::new();
    let address = memory.allocate(100);
    memory.allow("long", address, 101, Access::Read);
}
