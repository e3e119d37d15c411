/* One line of MANIFEST.tsv per file: what libjpeg-turbo decodes it to. Or with --scaled three lines of SCALED.tsv, for
 * 1/2, 1/4 and 1/8 of its size, unless no rows came out.
 *
 *   cc -O2 reference.c -o reference -ljpeg -lcrypto
 *   ./reference FILE... > MANIFEST.tsv
 *   ./reference --scaled FILE... > SCALED.tsv
 *
 * Settings are libjpeg's defaults (islow DCT, fancy upsampling, block smoothing); the output colour space is
 * the file's own: gray, RGB or CMYK as stored. EXIF orientation is ignored. */
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>

#define MAX_PIXELS 200000000ULL

static struct {
  struct jpeg_error_mgr manager; /* first: libjpeg's pointer to it is a pointer to all of this */
  jmp_buf fatal;
  long warnings;
  char message[JMSG_LENGTH_MAX]; /* the error, or else the first warning */
} errors;

static void on_error(j_common_ptr info) {
  errors.manager.format_message(info, errors.message);
  longjmp(errors.fatal, 1);
}

static void on_message(j_common_ptr info, int level) {
  if (level < 0) {
    errors.manager.num_warnings++;
    if (errors.warnings++ == 0) errors.manager.format_message(info, errors.message);
  }
}

static void hex_sha256(const unsigned char *bytes, size_t count, char *hex) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL);
  for (int i = 0; i < 32; i++) sprintf(hex + 2 * i, "%02x", digest[i]);
}

static unsigned char *read_file(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(1); }
  fseek(file, 0, SEEK_END);
  *count = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*count + 1);
  if (fread(bytes, 1, *count, file) != *count) { perror(path); exit(1); }
  fclose(file);
  return bytes;
}

/* At 1/denominator of the size; 0 stands for a line of MANIFEST.tsv. */
static void print_line(const char *path, unsigned denominator) {
  static struct jpeg_decompress_struct info;
  static unsigned char *volatile pixels;
  static const char *volatile status, *volatile format;
  char file_sha[65], sha[65] = "-";
  size_t count;
  unsigned char *bytes = read_file(path, &count);
  hex_sha256(bytes, count, file_sha);
  memset(&errors, 0, sizeof errors);
  memset(&info, 0, sizeof info);
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.emit_message = on_message;
  pixels = NULL; status = "ok"; format = "-";
  if (setjmp(errors.fatal)) { status = "error"; goto done; }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, count);
  jpeg_read_header(&info, TRUE);
  if (info.jpeg_color_space == JCS_YCCK) info.out_color_space = JCS_CMYK;
  format = info.out_color_space == JCS_GRAYSCALE ? "gray8" : info.out_color_space == JCS_RGB ? "rgb8"
         : info.out_color_space == JCS_CMYK ? "cmyk8" : "other";
  if (info.data_precision != 8 || (unsigned long long)info.image_width * info.image_height > MAX_PIXELS) {
    status = "skipped"; strcpy(errors.message, "not 8 bits per sample, or more than 200 megapixels"); goto done;
  }
  if (denominator) { info.scale_num = 1; info.scale_denom = denominator; }
  jpeg_start_decompress(&info);
  size_t row = (size_t)info.output_width * info.output_components;
  pixels = malloc(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW target = pixels + row * info.output_scanline;
    jpeg_read_scanlines(&info, &target, 1);
  }
  hex_sha256(pixels, row * info.output_height, sha);
  jpeg_finish_decompress(&info);
done:
  if (!denominator)
    printf("%s\t%s\t%s\t%ld\t%s\t%u\t%u\t%s\t%s\n", path, file_sha, status, errors.warnings, format,
           info.image_width, info.image_height, sha, errors.message[0] ? errors.message : "-");
  else if (sha[0] != '-')
    printf("%s\t1/%u\t%ld\t%s\t%u\t%u\t%s\n", path, denominator, errors.warnings, format, info.output_width,
           info.output_height, sha);
  jpeg_destroy_decompress(&info);
  free(pixels);
  free(bytes);
}

int main(int count, char **paths) {
  if (count > 1 && !strcmp(paths[1], "--scaled")) {
    puts("path\tscale\twarnings\tformat\twidth\theight\tpixels_sha256");
    for (int i = 2; i < count; i++)
      for (unsigned denominator = 2; denominator <= 8; denominator *= 2) print_line(paths[i], denominator);
    return 0;
  }
  puts("path\tfile_sha256\tstatus\twarnings\tformat\twidth\theight\tpixels_sha256\tmessage");
  for (int i = 1; i < count; i++) print_line(paths[i], 0);
  return 0;
}
