use super::*;

fn sum(kernel: &Kernel) -> i32 {
    kernel.iter().flatten().sum()
}

#[test]
fn ac_kernels_ignore_flat_areas_and_the_dc_kernel_keeps_them() {
    assert!(WITHOUT_AC.iter().chain(&WITH_AC).all(|kernel| sum(kernel) == 0));
    assert_eq!(sum(&DC), 256);
    assert_eq!(estimate(&DC, &[[77; 5]; 5], 16, 16, 0), 77);
}

#[test]
fn kernels_of_mirrored_coefficients_are_transposes() {
    for (k, mirrored) in [(0, 1), (2, 4), (5, 8), (6, 7), (3, 3)] {
        assert_eq!(WITHOUT_AC[k], transposed(WITHOUT_AC[mirrored]));
    }
    for (k, mirrored) in [(0, 1), (2, 4), (3, 3)] {
        assert_eq!(WITH_AC[k], transposed(WITH_AC[mirrored]));
    }
}

#[test]
fn estimates_round_half_away_and_stay_below_the_known_bits() {
    let mut around = [[0; 5]; 5];
    around[2][1] = 1;
    // Weight 50, quantizers equal: 50 / 256 rounds to 0; 200 / 256 to 1; signs are symmetric.
    let with_weight = |dc: i32, unknown_bits| {
        let mut around = around;
        around[2][1] = dc;
        estimate(&WITH_AC[0], &around, 1, 1, unknown_bits)
    };
    assert_eq!(with_weight(2, -1), 0);
    assert_eq!(with_weight(4, -1), 1);
    assert_eq!(with_weight(-4, -1), -1);
    assert_eq!(with_weight(100, -1), 20);
    assert_eq!(with_weight(100, 2), 3);
    assert_eq!(with_weight(-100, 2), -3);
}
