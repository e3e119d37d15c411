use super::*;

fn at(row: &[u8], index: isize) -> i32 {
    i32::from(row[index.clamp(0, row.len() as isize - 1) as usize])
}

fn rows(width: usize) -> (Vec<u8>, Vec<u8>) {
    let near = (0..width).map(|x| (x * 97 % 256) as u8).collect();
    let far = (0..width).map(|x| (255 - x * 31 % 256) as u8).collect();
    (near, far)
}

#[test]
fn h2v1_follows_the_formula_with_repeated_edges() {
    for width in 1..40 {
        let (row, _) = rows(width);
        let mut out = vec![0; 2 * width];
        triangle_h2v1(&row, &mut out);
        for i in 0..width as isize {
            assert_eq!(i32::from(out[2 * i as usize]), (3 * at(&row, i) + at(&row, i - 1) + 1) >> 2);
            assert_eq!(i32::from(out[2 * i as usize + 1]), (3 * at(&row, i) + at(&row, i + 1) + 2) >> 2);
        }
    }
}

#[test]
fn h1v2_rounds_by_half() {
    let (near, far) = rows(33);
    let mut out = vec![0; 33];
    for (upper_half, bias) in [(true, 1), (false, 2)] {
        triangle_h1v2(&near, &far, upper_half, &mut out);
        for x in 0..33 {
            assert_eq!(i32::from(out[x]), (3 * i32::from(near[x]) + i32::from(far[x]) + bias) >> 2);
        }
    }
}

#[test]
fn h2v2_follows_the_formula_with_repeated_edges() {
    for width in 1..40 {
        let (near, far) = rows(width);
        let mut out = vec![0; 2 * width];
        triangle_h2v2(&near, &far, &mut vec![0; width + 2], &mut out);
        let sum = |i: isize| 3 * at(&near, i) + at(&far, i);
        for i in 0..width as isize {
            assert_eq!(i32::from(out[2 * i as usize]), (3 * sum(i) + sum(i - 1) + 8) >> 4);
            assert_eq!(i32::from(out[2 * i as usize + 1]), (3 * sum(i) + sum(i + 1) + 7) >> 4);
        }
    }
}

#[test]
fn replication_repeats_each_sample() {
    let mut out = [0; 6];
    replicate(&[1, 2], 3, &mut out);
    assert_eq!(out, [1, 1, 1, 2, 2, 2]);
}
