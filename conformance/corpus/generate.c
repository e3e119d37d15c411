/* Makes the files in generated/ for the region tests: small, odd sizes, several MCUs in both directions.
 *
 *   cc -O2 generate.c -o generate -ljpeg && (cd generated && ../generate)
 *
 * The picture is computed; hard colour edges make every chroma sample differ from its neighbours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>

enum { SEQUENTIAL, SEPARATE_SCANS, PROGRESSIVE, INCOMPLETE };

struct recipe {
  const char *name;
  int width, height;
  J_COLOR_SPACE color;
  int sampling[4]; /* 0xHV per component */
  int process, restart; /* restart: MCUs, or if negative, MCU rows */
};

static const struct recipe recipes[] = {
  {"420-baseline", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, SEQUENTIAL, 0},
  {"420-baseline-restart-row", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, SEQUENTIAL, -1},
  {"420-baseline-restart-3", 67, 45, JCS_YCbCr, {0x22, 0x11, 0x11}, SEQUENTIAL, 3},
  {"420-separate-scans", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, SEPARATE_SCANS, 0},
  {"420-separate-scans-restart-5", 67, 45, JCS_YCbCr, {0x22, 0x11, 0x11}, SEPARATE_SCANS, 5},
  {"420-progressive", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, PROGRESSIVE, 0},
  {"420-progressive-restart-5", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, PROGRESSIVE, 5},
  {"420-incomplete", 97, 61, JCS_YCbCr, {0x22, 0x11, 0x11}, INCOMPLETE, 0},
  {"420-incomplete-restart-7", 67, 45, JCS_YCbCr, {0x22, 0x11, 0x11}, INCOMPLETE, 7},
  {"422-baseline", 97, 61, JCS_YCbCr, {0x21, 0x11, 0x11}, SEQUENTIAL, 0},
  {"422-progressive-restart-row", 67, 45, JCS_YCbCr, {0x21, 0x11, 0x11}, PROGRESSIVE, -1},
  {"440-baseline-restart-4", 67, 45, JCS_YCbCr, {0x12, 0x11, 0x11}, SEQUENTIAL, 4},
  {"440-progressive", 97, 61, JCS_YCbCr, {0x12, 0x11, 0x11}, PROGRESSIVE, 0},
  {"444-baseline-restart-2", 67, 45, JCS_YCbCr, {0x11, 0x11, 0x11}, SEQUENTIAL, 2},
  {"444-incomplete", 97, 61, JCS_YCbCr, {0x11, 0x11, 0x11}, INCOMPLETE, 0},
  {"411-baseline", 97, 61, JCS_YCbCr, {0x41, 0x11, 0x11}, SEQUENTIAL, 0},
  {"410-baseline-restart-2", 97, 61, JCS_YCbCr, {0x42, 0x11, 0x11}, SEQUENTIAL, 2},
  {"410-incomplete", 97, 61, JCS_YCbCr, {0x42, 0x11, 0x11}, INCOMPLETE, 0},
  {"441-progressive", 67, 45, JCS_YCbCr, {0x14, 0x11, 0x11}, PROGRESSIVE, 0},
  {"3x1-baseline", 97, 61, JCS_YCbCr, {0x31, 0x11, 0x11}, SEQUENTIAL, 0},
  {"1x3-progressive", 67, 45, JCS_YCbCr, {0x13, 0x11, 0x11}, PROGRESSIVE, 0},
  {"2x2-2x1-1x2-baseline", 97, 61, JCS_YCbCr, {0x22, 0x21, 0x12}, SEQUENTIAL, 0},
  {"rgb-baseline", 67, 45, JCS_RGB, {0x11, 0x11, 0x11}, SEQUENTIAL, 0},
  {"gray-baseline-restart-3", 97, 61, JCS_GRAYSCALE, {0x11}, SEQUENTIAL, 3},
  {"gray-incomplete", 97, 61, JCS_GRAYSCALE, {0x11}, INCOMPLETE, 0},
  {"cmyk-baseline", 67, 45, JCS_CMYK, {0x11, 0x11, 0x11, 0x11}, SEQUENTIAL, 0},
  {"ycck-420-baseline-restart-row", 97, 61, JCS_YCCK, {0x22, 0x11, 0x11, 0x22}, SEQUENTIAL, -1},
  {"ycck-420-progressive", 67, 45, JCS_YCCK, {0x22, 0x11, 0x11, 0x22}, PROGRESSIVE, 0},
};

static unsigned sample(int x, int y, int channel) {
  unsigned noise = (unsigned)(x * 73856093) ^ (unsigned)(y * 19349663) ^ (unsigned)(channel * 83492791);
  noise = (noise ^ noise >> 13) * 1274126177u;
  int block = (x / 5 + y / 7 + channel) % 3 == 0 ? 90 : 0;
  int value = (x * (3 - channel) + y * (1 + channel)) % 160 + block + (int)(noise >> 27) - 16;
  return value < 0 ? 0 : value > 255 ? 255 : (unsigned)value;
}

static jpeg_scan_info scan(int component, int start, int end, int high, int low) {
  jpeg_scan_info info = {1, {component}, start, end, high, low};
  return info;
}

static int script(const struct recipe *recipe, int components, jpeg_scan_info *scans) {
  int count = 0;
  if (recipe->process == SEPARATE_SCANS) {
    for (int i = 0; i < components; i++) scans[count++] = scan(i, 0, 63, 0, 0);
    return count;
  }
  /* Incomplete: DC without its last bit, and the first AC coefficients of the first component only. */
  jpeg_scan_info dc = {components, {0, 1, 2, 3}, 0, 0, 0, 1};
  scans[count++] = dc;
  scans[count++] = scan(0, 1, 2, 0, 2);
  return count;
}

static void make(const struct recipe *recipe) {
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  jpeg_scan_info scans[8];
  char path[80];
  snprintf(path, sizeof path, "%s.jpg", recipe->name);
  FILE *file = fopen(path, "wb");
  if (!file) { perror(path); exit(1); }
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = recipe->width;
  info.image_height = recipe->height;
  info.in_color_space = recipe->color == JCS_GRAYSCALE ? JCS_GRAYSCALE
                      : recipe->color == JCS_CMYK || recipe->color == JCS_YCCK ? JCS_CMYK : JCS_RGB;
  info.input_components = info.in_color_space == JCS_GRAYSCALE ? 1 : info.in_color_space == JCS_CMYK ? 4 : 3;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, recipe->color);
  jpeg_set_quality(&info, 72, TRUE);
  for (int i = 0; i < info.num_components; i++) {
    info.comp_info[i].h_samp_factor = recipe->sampling[i] >> 4;
    info.comp_info[i].v_samp_factor = recipe->sampling[i] & 15;
  }
  if (recipe->process == PROGRESSIVE) jpeg_simple_progression(&info);
  if (recipe->process == SEPARATE_SCANS || recipe->process == INCOMPLETE) {
    info.num_scans = script(recipe, info.num_components, scans);
    info.scan_info = scans;
  }
  if (recipe->restart > 0) info.restart_interval = recipe->restart;
  else info.restart_in_rows = -recipe->restart;
  jpeg_start_compress(&info, TRUE);
  JSAMPLE row[4 * 128];
  for (int y = 0; y < recipe->height; y++) {
    for (int i = 0; i < recipe->width * info.input_components; i++)
      row[i] = (JSAMPLE)sample(i / info.input_components, y, i % info.input_components);
    JSAMPROW rows[] = {row};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  fclose(file);
}

int main(void) {
  for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) make(&recipes[i]);
  return 0;
}
