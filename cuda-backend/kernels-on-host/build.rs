//! Compiles the kernels' sources, as they are, for this machine.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=emulator");
    println!("cargo::rerun-if-changed=../kernels");
    println!("cargo::rerun-if-changed=tests/misuse.cu");
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    compiler().files(["emulator/block.cpp", "emulator/checks.cpp", "emulator/undefined.cpp"]).compile("emulator");
    let mut kernels = compiler();
    // The sanitisers' calls are answered by the emulator, so neither of their libraries is needed. Shifts of negative
    // numbers are as CUDA has them since C++20.
    kernels.flag("-fsanitize=thread").flag("-fsanitize-recover=all");
    kernels.flag("-fsanitize=shift,signed-integer-overflow,integer-divide-by-zero,bounds,alignment,bool,enum");
    kernels.flag_if_supported("-Wno-unknown-pragmas").flag_if_supported("-Wno-tsan");
    let stems = ["entropy", "candidates", "reconstruct", "write_pixels", "misuse"];
    kernels.files(stems.map(|stem| format!("emulator/kernels/{stem}.cpp")));
    kernels.compile("kernels_on_host");
}

fn compiler() -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).cpp_link_stdlib(None).std("c++20").include("emulator").opt_level(2).extra_warnings(false);
    build.flag("-fno-exceptions").flag("-fno-rtti").flag("-fno-strict-aliasing").flag("-U_FORTIFY_SOURCE");
    build
}
