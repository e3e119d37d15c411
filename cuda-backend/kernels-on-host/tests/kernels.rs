//! No kernel is left out.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::path::Path;

#[test]
fn every_kernel_of_the_backend_is_here() {
    let names = isopel_kernels_on_host::names();
    let mut found = 0;
    for file in Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels").read_dir().unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        // The name stands before the parameters, in the line behind `__global__`.
        for kernel in std::fs::read_to_string(&path).unwrap().split("__global__").skip(1) {
            let line = kernel.lines().nth(1).expect("a line with the name");
            let name = line.split('(').next().expect("a name");
            assert!(names.contains(&name), "{name} of {path:?} is not in src/launch.rs");
            found += 1;
        }
    }
    assert!(found >= 9, "only {found} kernels");
}
