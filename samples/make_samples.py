#!/usr/bin/env python3
"""Draw the sample JPEG pictures in this folder.

Made with Python 3.11, numpy 2.4 and Pillow 13.0.  Every picture is computed
from fixed seeds; no photograph or other outside material goes in.

    python3 make_samples.py [--out FOLDER] [--scale N] [NAME ...]
"""
import argparse
import io
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

F = np.float32


# ---------------------------------------------------------------- noise

class Noise:
    """Value noise on a wrapping 256x256 lattice, with derivatives."""

    def __init__(self, seed):
        self.table = np.random.default_rng(seed).random((256, 256), dtype=F).ravel()

    def __call__(self, x, y, deriv=False):
        xf, yf = np.floor(x), np.floor(y)
        i, j = xf.astype(np.int32) & 255, yf.astype(np.int32) & 255
        fx, fy = (x - xf).astype(F), (y - yf).astype(F)
        i1, j1 = (i + 1) & 255, (j + 1) & 255
        t = self.table
        a, b = t[j * 256 + i], t[j * 256 + i1]
        c, d = t[j1 * 256 + i], t[j1 * 256 + i1]
        u = fx * fx * fx * (fx * (fx * 6 - 15) + 10)
        v = fy * fy * fy * (fy * (fy * 6 - 15) + 10)
        k1, k2, k3 = b - a, c - a, a - b - c + d
        n = a + k1 * u + k2 * v + k3 * u * v
        if not deriv:
            return n
        du = 30 * fx * fx * (fx * (fx - 2) + 1)
        dv = 30 * fy * fy * (fy * (fy - 2) + 1)
        return n, du * (k1 + k3 * v), dv * (k2 + k3 * u)

    def fbm(self, x, y, octaves=6, gain=0.5):
        total, amp, norm = 0, 1.0, 0.0
        for _ in range(octaves):
            total = total + amp * self(x, y)
            norm += amp
            amp *= gain
            x, y = 1.6 * x - 1.2 * y + 17.3, 1.2 * x + 1.6 * y + 5.1
        return total / norm

    def eroded(self, x, y, octaves=10):
        """fbm whose finer octaves fade on steep ground: valleys and ridges."""
        total, amp, dx, dy = 0, 1.0, 0, 0
        for _ in range(octaves):
            n, nx, ny = self(x, y, True)
            dx, dy = dx + nx, dy + ny
            total = total + amp * n / (1 + dx * dx + dy * dy)
            amp *= 0.5
            x, y = 1.6 * x - 1.2 * y, 1.2 * x + 1.6 * y
        return total


def smooth(a, b, x):
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def mix(a, b, t):
    return a + (b - a) * t


def rgb(*c):
    return np.array(c, dtype=F)


def to_image(lin, grain=0.0, seed=0):
    """Linear light -> filmic curve -> 8-bit sRGB-like picture."""
    x = np.maximum(lin, 0) * F(0.78)
    x = np.maximum(mix(x.mean(-1, keepdims=True), x, 1.12), 0)
    x = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    x = np.clip(x, 0, 1) ** (1 / 2.2)
    if grain:
        rng = np.random.default_rng(seed)
        x = x + grain * rng.standard_normal(x.shape[:2], dtype=F)[..., None]
    return Image.fromarray((np.clip(x, 0, 1) * 255 + 0.5).astype(np.uint8))


# ---------------------------------------------------------------- landscape

class Landscape:
    CAM = 18.0       # metres above the lake
    NEAR, FAR = 500.0, 16000.0

    def __init__(self, w, h, seed, horizon=0.575, fov=60, sun=(0.36, 0.235)):
        self.w, self.h = w, h
        self.f = w / 2 / math.tan(math.radians(fov / 2))
        self.hor = h * horizon
        self.n = Noise(seed)
        self.sun = sun                       # tan of azimuth, tan of elevation
        self.sun_dir = rgb(sun[0], sun[1], 1) / math.sqrt(1 + sun[0] ** 2 + sun[1] ** 2)

    # -- ground
    def height(self, x, z):
        n = self.n
        wx = 260 * (n.fbm(x / 900 + 3, z / 900, 3) - 0.5)
        wz = 260 * (n.fbm(x / 900, z / 900 + 40, 3) - 0.5)
        e = n.eroded((x + wx) / 2300 + 11.3, (z + wz) / 2300 + 4.7)
        valley = 420 * (n(z / 2600 + 9.1, z * 0 + 2.5) - 0.5)
        side = np.abs(x - valley) / (260 + 0.16 * z)
        wall = smooth(0.35, 2.6, side)
        rise = smooth(1500, 7500, z)
        amp = 170 + 820 * wall * smooth(700, 5000, z) + 1250 * rise
        shore = 1250 + 500 * (n.fbm(x / 500 + 70, x * 0 + 1.5, 4) - 0.5) - 330 * smooth(0.8, 3, side)
        ground = amp * (e * 1.12 - 0.16)
        ground = ground * smooth(-150, 1500, z - shore) + (z - shore) * 0.05
        return np.where(z < shore, np.minimum(ground, -1), np.maximum(ground, 0.02 * (z - shore)))

    def grid(self, steps):
        cols = int(self.w * 1.2)
        self.D = np.geomspace(self.NEAR, self.FAR, steps).astype(F)
        k = ((np.arange(cols) + 0.5 - self.w / 2) / self.f).astype(F)
        H = np.empty((steps, cols), F)
        C = np.empty((steps, self.w, 3), F)
        tan_light = 0.42
        prev = None
        for s in range(0, steps, 50):
            D = self.D[s:s + 51][:, None]
            X, Z = D * k, D + 0 * k
            hh = self.height(X, Z).astype(F)
            # slope of the bare ground decides what grows where
            gx = np.gradient(hh, axis=1) / np.gradient(X, axis=1)
            gz = np.gradient(hh, axis=0) / np.gradient(Z, axis=0)
            steep = np.hypot(gx, gz)
            n = self.n
            patch = n.fbm(X / 160, Z / 160, 5)
            forest = smooth(560, 300, hh + 400 * (patch - 0.5)) * smooth(1.3, 0.7, steep)
            forest = forest * smooth(1.5, 5, hh) * smooth(0.30, 0.44, patch + 0.1 * smooth(300, 40, hh))
            crown = n(X / 7.0, Z / 7.0) * 0.6 + n(X / 3.1, Z / 3.1) * 0.4
            tall = hh + forest * (4 + 22 * crown ** 1.5)
            gx = np.gradient(tall, axis=1) / np.gradient(X, axis=1)
            gz = np.gradient(tall, axis=0) / np.gradient(Z, axis=0)
            inv = 1 / np.sqrt(1 + gx * gx + gz * gz)
            # low sun from the right
            L = rgb(0.86, 0.47, -0.12)
            diff = np.clip((-gx * L[0] + L[1] - gz * L[2]) * inv, 0, 1)
            lift = tall - X * tan_light
            over = np.maximum.accumulate(lift[:, ::-1], axis=1)[:, ::-1] - lift
            lit = diff * smooth(60, 0, over - 3)
            sky = 0.45 + 0.55 * inv
            rock = mix(rgb(.10, .088, .082), rgb(.27, .23, .20), n.fbm(X / 45, (Z + hh * 3) / 30, 5)[..., None])
            grass = mix(rgb(.085, .105, .03), rgb(.22, .19, .06), patch[..., None])
            trees = mix(rgb(.012, .028, .014), rgb(.055, .075, .025), crown[..., None])
            col = mix(rock, grass, (smooth(0.95, 0.5, steep) * smooth(1100, 700, hh))[..., None])
            col = mix(col, trees, forest[..., None])
            beach = smooth(4, 0.5, hh)[..., None]
            col = mix(col, rgb(.30, .26, .20), beach * 0.8)
            snow = smooth(560, 860, hh + 420 * (patch - 0.5)) * smooth(1.8, 0.9, steep)
            col = mix(col, rgb(.86, .88, .93), snow[..., None])
            out = col * (lit[..., None] * rgb(3.0, 2.0, 1.15) + sky[..., None] * rgb(.22, .31, .52))
            dist = np.hypot(X, Z)[..., None]
            height_fog = np.exp(-np.maximum(tall, 0) / 520)[..., None]
            fog = 1 - np.exp(-dist / 21000 * (0.45 + 1.5 * height_fog))
            toward = (k - self.sun[0]) / 0.42
            glow = np.exp(-toward * toward)[None, :, None]
            haze = mix(rgb(.27, .40, .66), rgb(1.05, .64, .36), glow * 0.7)
            out = mix(out, haze, fog)
            m = min(50, steps - s)
            H[s:s + m] = tall[:m]
            C[s:s + m] = out[:m, :self.w]
        self.H = H[:, :self.w]
        self.C = C

    # -- sky
    def sky(self, tx, ty):
        n = self.n
        ty = np.maximum(ty, 0.001)
        inv = 1 / np.sqrt(1 + tx * tx + ty * ty)
        el = ty * inv
        cosa = (tx * self.sun_dir[0] + ty * self.sun_dir[1] + self.sun_dir[2]) * inv
        ang = np.arccos(np.clip(cosa, -1, 1))
        base = mix(rgb(.90, .55, .34), rgb(.34, .46, .70), smooth(0.0, 0.22, el)[..., None])
        base = mix(base, rgb(.055, .15, .40), smooth(0.10, 0.45, el)[..., None])
        warm = np.exp(-ang / 0.13)[..., None] * rgb(.9, .40, .12) + np.exp(-(ang / 0.06) ** 1.2)[..., None] * rgb(2.5, 1.7, .9)
        # clouds on a flat layer overhead
        u, v = tx / (ty + 0.09), 1 / (ty + 0.09)
        u, v = u * 0.55, v * 0.75
        q = n.fbm(u + 31, v + 7, 4)
        def dens(a, b):
            return n.fbm(a * 1.3 + 1.7 * q, b * 1.3 + 1.1 * q, 7, 0.52)
        d0 = dens(u, v)
        su, sv = self.sun[0] / (self.sun[1] + .09) * .55, .75 / (self.sun[1] + .09)
        lx, ly = su - u, sv - v
        ln = np.sqrt(lx * lx + ly * ly) + 1e-3
        d1 = dens(u + 0.16 * lx / ln, v + 0.16 * ly / ln)
        cover = smooth(0.50, 0.74, d0) * smooth(0.02, 0.10, el)
        light = np.clip(0.55 + 3.2 * (d0 - d1), 0, 1)[..., None]
        near = np.exp(-ang / 0.45)[..., None]
        bright = mix(rgb(1.0, .82, .76), rgb(1.75, 1.08, .56), near)
        dark = mix(rgb(.27, .30, .42), rgb(.52, .37, .36), near)
        cloud = mix(dark, bright, light)
        out = mix(base + warm, cloud + 0.5 * warm, (cover * 0.9)[..., None])
        disc = smooth(0.0225, 0.0195, ang)[..., None]
        return out + disc * rgb(14, 11, 7) * (1 - 0.6 * cover[..., None])

    # -- one view of ground and sky from camera height cam
    def view(self, cam, t):
        """t: slope of each row's ray (descending).  Returns colour, hit."""
        w, D = self.w, self.D
        S = (np.maximum(self.H, 0) - cam) / D[:, None]
        if cam < 0:                          # from below, the water hides nothing
            S[self.H <= 0] = -1
        R = np.maximum.accumulate(S, axis=0)
        idx = np.empty((len(t), w), np.int32)
        for c in range(w):
            idx[:, c] = np.searchsorted(R[:, c], t)
        tx = ((np.arange(w) + 0.5 - w / 2) / self.f).astype(F)
        cc = np.broadcast_to(np.arange(w), idx.shape)
        hit = idx < len(D)
        i1 = np.minimum(idx, len(D) - 1)
        i0 = np.maximum(i1 - 1, 0)
        s0, s1 = S[i0, cc], S[i1, cc]
        fr = np.clip((t[:, None] - s0) / np.maximum(s1 - s0, 1e-9), 0, 1)[..., None]
        out = mix(self.C[i0, cc], self.C[i1, cc], fr)
        for r in range(len(t)):
            if not hit[r].all():
                sk = self.sky(tx, np.full(w, t[r], F))
                out[r] = np.where(hit[r][:, None], out[r], sk)
        water = hit & (self.H[i1, cc] <= 0)
        return out, water

    def render(self, steps=2400):
        self.grid(steps)
        w, h, f = self.w, self.h, self.f
        t = ((self.hor - (np.arange(h) + 0.5)) / f).astype(F)
        img, water = self.view(self.CAM, t)
        water[t < -self.CAM / self.NEAR] = True
        # lake: what a camera mirrored in the water plane sees
        tm = t[t < 0]
        r0 = h - len(tm)
        reach = (np.arange(int(len(tm) * 1.25)) + 0.5) / f
        mirror, _ = self.view(-self.CAM, reach[::-1].astype(F))
        mirror = mirror[::-1]
        tx = ((np.arange(w) + 0.5 - w / 2) / f).astype(F)[None, :]
        z = (self.CAM / -tm)[:, None]
        x = z * tx
        foot = z * z / (self.CAM * f)
        wave, wx = 0, 0
        for lam, amp in ((34, .011), (13, .012), (5, .011), (2.1, .010), (0.9, .008)):
            a = amp * np.exp(-(foot / lam * 1.2) ** 2)
            wave = wave + a * (self.n(x / lam * 0.45 + lam, z / lam) - 0.5)
            wx = wx + a * (self.n(x / lam * 0.6 + 50, z / lam + 90) - 0.5)
        calm = 0.35 + 0.9 * smooth(0.42, 0.62, self.n.fbm(x / 190 + 5, z / 70, 4))
        wave, wx = wave * calm * 1.5, wx * calm * 0.6
        rows = np.clip((-tm[:, None] + wave) * f - 0.5, 0, len(reach) - 1.001)
        cols = np.clip(np.arange(w)[None, :] + wx * f, 0, w - 1.001)
        ri, ci = rows.astype(int), cols.astype(int)
        a, b = (rows - ri)[..., None], (cols - ci)[..., None]
        refl = mix(mix(mirror[ri, ci], mirror[ri, ci + 1], b), mix(mirror[ri + 1, ci], mirror[ri + 1, ci + 1], b), a)
        refl = np.minimum(refl, 6)
        sin = np.clip(-tm[:, None] + 1.2 * wave, 0.0, 1)
        fres = (0.02 + 0.98 * (1 - sin) ** 4.2)[..., None]
        deep = mix(rgb(.022, .060, .075), rgb(.035, .085, .085), calm[..., None])
        lake = mix(deep, refl * rgb(.90, .94, .97), fres)
        part = img[r0:]
        m = water[r0:, :, None]
        img[r0:] = np.where(m, lake, part)
        return img


def grass(draw, rng, w, h, s, edge, count, light=1.0):
    """Blades from back to front below the curve edge(x)."""
    depth = np.sort(rng.random(count) ** 0.8)
    xs = rng.random(count) * w * 1.04 - 0.02 * w
    for d, x in zip(depth, xs):
        y = edge(x / w) * h
        y = y + d * (h * 1.03 - y)
        size = s * (10 + 52 * d) * (0.6 + 0.8 * rng.random())
        lean = s * (2 + 16 * d) * rng.normal(0.25, 0.7)
        q = rng.random()
        dark = np.array([36, 48, 17]) * (0.6 + 0.7 * rng.random())
        tip = np.array([128, 120, 44]) if q < 0.55 else np.array([176, 146, 66]) if q < 0.85 else np.array([84, 104, 46])
        side = 0.55 + 0.6 * (x / w)
        tip = np.clip(tip * light * side * (0.65 + 0.55 * rng.random()) * (1.05 - 0.45 * d), 0, 255)
        half = s * (0.5 + 1.3 * d)
        pts = [(x + lean * u * u, y - size * u) for u in (0, 0.4, 0.75, 1)]
        for j in range(3):
            u = (j + 0.6) / 3
            c = tuple(int(v) for v in dark + (tip - dark) * u)
            (xa, ya), (xb, yb) = pts[j], pts[j + 1]
            ha, hb = half * (1 - j / 3), half * (1 - (j + 1) / 3)
            draw.polygon([(xa - ha, ya), (xa + ha, ya), (xb + hb, yb), (xb - hb, yb)], fill=c)
        if d > 0.04 and rng.random() < 0.028:
            r = s * (1.4 + 4.6 * d) * (0.7 + 0.5 * rng.random())
            fx, fy = pts[3]
            col = [(214, 92, 150), (236, 204, 92), (226, 220, 232), (150, 96, 196)][int(rng.integers(4))]
            for k in range(5):
                an = k * 1.2566 + lean
                px, py = fx + r * .8 * math.cos(an), fy + r * .6 * math.sin(an)
                sh = 0.7 + 0.3 * math.cos(an) + 0.1 * rng.random()
                draw.ellipse([px - r * .6, py - r * .45, px + r * .6, py + r * .45], fill=tuple(int(v * min(sh, 1)) for v in col))
            draw.ellipse([fx - r * .3, fy - r * .25, fx + r * .3, fy + r * .25], fill=(206, 150, 40))


def pine(draw, rng, x, base, height, s):
    width = height * 0.20
    draw.polygon([(x - height * .016, base), (x + height * .016, base), (x + 1, base - height), (x - 1, base - height)], fill=(34, 25, 18))
    levels = int(height / (7.5 * s))
    for lv in range(levels):
        u = 1 - lv / levels                       # 1 at the foot
        y0 = base - height * (1 - u * 0.90) * 1.0
        for _ in range(6):
            reach = width * (0.06 + u ** 0.85) * rng.uniform(0.45, 1.1) * (1 if rng.random() < .5 else -1)
            droop = abs(reach) * rng.uniform(0.18, 0.45)
            yy = y0 + rng.normal(0, 3 * s)
            pieces = max(4, int(abs(reach) / (2.6 * s)))
            for p in range(pieces):
                q = (p + 1) / pieces
                bx, by = x + reach * q, yy + droop * q * q - abs(reach) * 0.06 * math.sin(q * 3.1)
                for _ in range(3):
                    nl = s * rng.uniform(3, 9.5) * (1.1 - 0.5 * q)
                    an = rng.uniform(0.15, 1.35)
                    dx, dy = math.copysign(nl * math.cos(an), reach), nl * math.sin(an)
                    sunlit = max(0.0, reach / width) * q + rng.uniform(-0.05, 0.22)
                    k = min(max(sunlit, 0), 1)
                    c = (int(13 + 98 * k), int(21 + 72 * k), int(16 + 18 * k))
                    draw.line([(bx, by), (bx + dx, by + dy)], fill=c, width=max(1, int(s * 1.1)))


def photo(scale):
    w, h = 1920, 1280
    S = scale
    land = Landscape(w * S, h * S, seed=SEEDS["photo"], sun=(0.17, 0.22))
    im = to_image(land.render(1300 + 700 * S))
    d = ImageDraw.Draw(im)
    rng = np.random.default_rng(77)
    n = Noise(5)
    def edge(u):
        return float(0.90 - 0.085 * (1 - u) ** 2 + 0.018 * math.sin(5 * u + 1) + 0.012 * (n(np.array([u * 9]), np.array([.5]))[0] - .5)) - 0.03 * max(0, u - .75) / .25
    poly = [(x * S, edge(x / w) * h * S) for x in range(0, w + 1, 4)]
    d.polygon(poly + [(w * S, h * S), (0, h * S)], fill=(40, 46, 20))
    for x, y, ht in ((-10, .90, 520), (118, .89, 690), (262, .90, 430), (345, .905, 240), (1868, .90, 600), (1760, .905, 330)):
        pine(d, rng, x * S, y * h * S, ht * S, S)
    grass(d, rng, w * S, h * S, S, edge, 16000, light=1.75)
    im = im.resize((w, h), Image.LANCZOS)
    a = np.asarray(im).astype(F)
    g = np.random.default_rng(8).standard_normal((h, w), dtype=F)[..., None]
    yy, xx = np.mgrid[0:h, 0:w].astype(F)
    vig = 1 - 0.22 * (((xx / w - .5) ** 2 + (yy / h - .5) ** 2) / .5)[..., None] ** 1.3
    return Image.fromarray(np.clip(a * vig + 1.1 * g + 0.5, 0, 255).astype(np.uint8))


def small_landscape(w, h, seed, **kw):
    S = 2
    land = Landscape(w * S, h * S, seed, **kw)
    im = to_image(land.render(1600)).resize((w, h), Image.LANCZOS)
    a = np.asarray(im).astype(F)
    g = np.random.default_rng(seed).standard_normal((h, w), dtype=F)[..., None]
    return Image.fromarray(np.clip(a + 1.2 * g + 0.5, 0, 255).astype(np.uint8))


# ---------------------------------------------------------------- portrait

def portrait():
    """Lighthouse, 900x1200 upright."""
    w, h, S = 900, 1200, 2
    n = Noise(21)
    y, x = np.mgrid[0:h, 0:w].astype(F)
    u, v = x / w, y / h
    sky = mix(rgb(.16, .40, .78), rgb(.80, .88, .95), (smooth(0, .72, v) ** 1.2)[..., None])
    q = n.fbm(u * 2, v * 3.5, 4)
    c = n.fbm(u * 3 + q * 1.4, v * 7 + q, 7)
    c2 = n.fbm(u * 3 + q * 1.4 + .04, v * 7 + q - .10, 7)
    sky = mix(sky, np.clip(0.86 + 1.6 * (c - c2), .55, 1)[..., None] * rgb(1, .99, .98), (smooth(.5, .68, c) * .9)[..., None])
    hor = 0.74
    depth = 1 / np.maximum(v - hor + .012, .004)
    wv = n.fbm((u - .5) * depth * 1.2 + 9, depth * 3.2, 5)
    sea = mix(rgb(.03, .20, .36), rgb(.10, .42, .55), smooth(hor, 1, v)[..., None]) * (.55 + .9 * wv[..., None])
    sea = sea + (smooth(.62, .74, wv) * .5)[..., None]
    im = np.where((v > hor)[..., None], sea, sky)
    im = Image.fromarray((np.clip(im, 0, 1) * 255).astype(np.uint8)).resize((w * S, h * S), Image.BICUBIC)
    d = ImageDraw.Draw(im)
    P = lambda pts: [(px * S, py * S) for px, py in pts]
    # sun
    for k in range(16):
        a = k * math.pi / 8
        d.line(P([(715 + 92 * math.cos(a), 165 + 92 * math.sin(a)), (715 + 128 * math.cos(a), 165 + 128 * math.sin(a))]), fill=(255, 214, 70), width=9 * S)
    d.ellipse([(715 - 74) * S, (165 - 74) * S, (715 + 74) * S, (165 + 74) * S], fill=(255, 222, 84))
    # rock
    rng = np.random.default_rng(4)
    for k in range(5200):
        t = rng.random()
        px = 250 + 330 * math.tanh(rng.normal() * .75) * (0.45 + .62 * t)
        py = 880 + 330 * t + 55 * abs((px - 250) / 330) ** 2
        r = 6 + 26 * t * rng.random()
        s = rng.uniform(.35, 1) * (1 - .25 * t)
        pts = [(px + r * math.cos(a) * rng.uniform(.6, 1.1), py + .6 * r * math.sin(a) * rng.uniform(.6, 1.1)) for a in np.arange(6) * 1.047]
        g = rng.random() < .22
        d.polygon(P(pts), fill=(int(92 * s), int(120 * s), int(58 * s)) if g else (int(134 * s), int(118 * s), int(104 * s)))
    # tower with bands, shaded like a cylinder
    top, bot, cx = 330, 925, 250
    for yy in range(top * S, bot * S):
        f = (yy / S - top) / (bot - top)
        half = 52 + 42 * f
        red = int(f * 7) % 2 == 0
        for xx in range(int((cx - half) * S), int((cx + half) * S)):
            q = (xx / S - cx) / half
            l = max(.28, .62 + .38 * math.sin(1.35 * q + .35)) * (1 if abs(q) < .97 else .8)
            base = (206, 44, 40) if red else (246, 243, 236)
            im.putpixel((xx, yy), tuple(int(b * l) for b in base))
    for wy in (470, 640, 790):
        d.rectangle([(cx - 12) * S, wy * S, (cx + 12) * S, (wy + 40) * S], fill=(36, 44, 58))
        d.ellipse([(cx - 12) * S, (wy - 12) * S, (cx + 12) * S, (wy + 12) * S], fill=(36, 44, 58))
    d.polygon(P([(cx - 76, 330), (cx + 76, 330), (cx + 60, 348), (cx - 60, 348)]), fill=(52, 56, 66))
    d.rectangle([(cx - 36) * S, 240 * S, (cx + 36) * S, 316 * S], fill=(255, 236, 150))
    for bx in (-36, -12, 12, 36):
        d.line(P([(cx + bx, 240), (cx + bx, 316)]), fill=(52, 56, 66), width=4 * S)
    d.rectangle([(cx - 76) * S, 314 * S, (cx + 76) * S, 330 * S], fill=(70, 74, 86))
    for bx in range(-74, 75, 21):
        d.line(P([(cx + bx, 286), (cx + bx, 316)]), fill=(52, 56, 66), width=3 * S)
    d.line(P([(cx - 76, 286), (cx + 76, 286)]), fill=(52, 56, 66), width=4 * S)
    d.polygon(P([(cx - 48, 240), (cx + 48, 240), (cx, 170)]), fill=(170, 34, 32))
    d.line(P([(cx, 170), (cx, 132)]), fill=(60, 60, 66), width=5 * S)
    # arrow and letters, as plain shapes
    def letters(dx, dy, fill):
        M = lambda pts: P([(px + dx, py + dy) for px, py in pts])
        d.polygon(M([(665, 370), (780, 500), (708, 500), (708, 640), (622, 640), (622, 500), (550, 500)]), fill=fill)
        d.rectangle([M([(540, 680)])[0], M([(574, 810)])[0]], fill=fill)
        d.rectangle([M([(626, 680)])[0], M([(660, 810)])[0]], fill=fill)
        d.arc([M([(540, 745)])[0], M([(660, 865)])[0]], 0, 180, fill=fill, width=34 * S)
        d.rectangle([M([(690, 680)])[0], M([(724, 865)])[0]], fill=fill)
        d.rectangle([M([(724, 680)])[0], M([(758, 714)])[0]], fill=fill)
        d.rectangle([M([(724, 760)])[0], M([(758, 794)])[0]], fill=fill)
        d.arc([M([(700, 680)])[0], M([(814, 794)])[0]], -90, 90, fill=fill, width=34 * S)
    letters(6, 7, (20, 40, 70))
    letters(0, 0, (255, 255, 255))
    return im.resize((w, h), Image.LANCZOS)


# ---------------------------------------------------------------- small scenes

def spheres():
    """Shiny balls on a chequered floor, 800x600."""
    w, h, S = 800, 600, 2
    W, H = w * S, h * S
    y, x = np.mgrid[0:H, 0:W]
    d = np.stack([(x + .5 - W / 2) / H, (H / 2 - y - .5) / H - .12, np.full((H, W), .95)], -1).astype(F).reshape(-1, 3)
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    o = np.tile(rgb(0, 1.5, -4.2), (len(d), 1))
    rng = np.random.default_rng(12)
    balls = [(rgb(0, 1, 1.2), 1.0, rgb(.85, .12, .10)), (rgb(-1.75, .62, .2), .62, rgb(.10, .35, .85)), (rgb(1.6, .7, .1), .7, rgb(.95, .65, .08))]
    for k in range(26):
        r = rng.uniform(.13, .30)
        for _ in range(200):
            c = rgb(rng.uniform(-3.4, 3.4), r, rng.uniform(-1.4, 5))
            if all(np.hypot(c[0] - b[0][0], c[2] - b[0][2]) > r + b[1] * .95 for b in balls):
                break
        hue = rng.random() * 6.283
        balls.append((c, r, .5 + .42 * np.cos(hue + rgb(0, 2.1, 4.2))))
    L = rgb(.5, .75, -.45)
    L /= np.linalg.norm(L)

    def nearest(o, d):
        t = np.full(len(d), 1e9, F)
        who = np.full(len(d), -2)
        fl = np.where(d[:, 1] < -1e-4, -o[:, 1] / np.minimum(d[:, 1], -1e-4), 1e9)
        t, who = fl.astype(F), np.where(fl < 1e8, -1, -2)
        for i, (c, r, _) in enumerate(balls):
            oc = o - c
            b = (oc * d).sum(1)
            disc = b * b - (oc * oc).sum(1) + r * r
            q = np.where(disc > 0, -b - np.sqrt(np.maximum(disc, 0)), 1e9)
            ok = (q > 1e-3) & (q < t)
            t, who = np.where(ok, q, t), np.where(ok, i, who)
        return t, who

    def shade(o, d, depth):
        t, who = nearest(o, d)
        up = np.clip(d[:, 1], 0, 1)[:, None]
        out = mix(rgb(.85, .88, .95), rgb(.18, .36, .72), up ** .6)
        out = out + (np.clip((d * L).sum(1), 0, 1)[:, None] ** 300) * 6
        hit = who > -2
        p = o[hit] + d[hit] * t[hit, None]
        wh, dh = who[hit], d[hit]
        nrm = np.tile(rgb(0, 1, 0), (len(p), 1))
        col = np.where(((np.floor(p[:, 0] * 1.5) + np.floor(p[:, 2] * 1.5)) % 2 == 0)[:, None], rgb(.72, .70, .66), rgb(.10, .11, .14))
        for i, (c, r, k) in enumerate(balls):
            m = wh == i
            nrm[m] = (p[m] - c) / r
            col[m] = k
        p = p + nrm * 2e-3
        _, block = nearest(p, np.tile(L, (len(p), 1)))
        lam = np.clip((nrm * L).sum(1), 0, 1) * (block == -2)
        res = col * (lam[:, None] * 1.15 + .30 + .15 * nrm[:, 1:2])
        r = dh - 2 * (dh * nrm).sum(1, keepdims=True) * nrm
        fr = .05 + .95 * (1 - np.clip(-(dh * nrm).sum(1, keepdims=True), 0, 1)) ** 5
        fr = np.where(wh[:, None] >= 0, np.maximum(fr, .14), fr * .6)
        if depth:
            res = mix(res, shade(p, r, depth - 1), fr)
        fog = np.where(wh == -1, 1 - np.exp(-(t[hit] / 16) ** 2), 0)[:, None]
        out[hit] = mix(res, rgb(.85, .88, .95), fog)
        return out.astype(F)

    im = np.concatenate([shade(o[i:i + 200000], d[i:i + 200000], 2) for i in range(0, len(d), 200000)])
    return to_image(im.reshape(H, W, 3) * .62).resize((w, h), Image.LANCZOS)


def pebbles():
    """Wet pebbles, 800x600: cells around random points."""
    w, h = 800, 600
    rng = np.random.default_rng(31)
    n = Noise(32)
    y, x = np.mgrid[0:h, 0:w].astype(F)
    wx, wy = x + 26 * (n.fbm(x / 60, y / 60, 4) - .5), y + 26 * (n.fbm(x / 60 + 9, y / 60 + 4, 4) - .5)
    g = 62
    a = np.full((h, w), 1e9, F); b = a.copy(); who = np.zeros((h, w), int)
    for j in range(-1, h // g + 2):
        for i in range(-1, w // g + 2):
            px, py = (i + rng.uniform(.08, .92)) * g, (j + rng.uniform(.08, .92)) * g
            dd = np.hypot(wx - px, (wy - py) * 1.25)
            m = dd < a
            b = np.where(m, a, np.minimum(b, dd))
            who[m] = (j + 1) * 64 + i + 1
            a = np.where(m, dd, a)
    edge = smooth(1, 26, b - a)
    hgt = 30 * np.sqrt(edge) + 3 * n.fbm(x / 9, y / 9, 4)
    gy, gx = np.gradient(hgt)
    nz = 1 / np.sqrt(1 + gx * gx + gy * gy)
    lam = np.clip((-gx * .55 - gy * .6 + .6) * nz, 0, 1)
    spec = np.clip((-gx * .34 - gy * .38 + .86) * nz, 0, 1) ** 60
    pal = np.random.default_rng(33).choice(6, 4096)
    base = np.array([(.42, .36, .30), (.30, .33, .36), (.55, .47, .36), (.22, .20, .20), (.50, .30, .22), (.62, .60, .56)], F)[pal[who]]
    base = base * (.55 + .9 * n.fbm(x / 14 + who * 3.1, y / 5 + who * 1.7, 5)[..., None])
    out = base * (lam * 1.2 + .15)[..., None] * (.15 + .85 * smooth(0, .35, edge))[..., None] + .55 * spec[..., None] * edge[..., None]
    return to_image(out, .012, 3)


def inks():
    """Overlapping ink discs above four ink ramps, 320x240, CMYK."""
    w, h, S = 320, 240, 4
    plates = []
    for cx, cy in ((120, 78), (200, 78), (160, 132)):
        p = Image.new("L", (w * S, h * S), 0)
        ImageDraw.Draw(p).ellipse([(cx - 64) * S, (cy - 64) * S, (cx + 64) * S, (cy + 64) * S], fill=235)
        plates.append(np.array(p.resize((w, h), Image.LANCZOS)))
    plates.append(np.zeros((h, w), np.uint8))
    ramp = np.linspace(0, 255, w).astype(np.uint8)
    for k in range(4):
        for q in range(4):
            plates[q][206 + 8 * k:214 + 8 * k] = ramp if q == k else 0
    return Image.merge("CMYK", [Image.fromarray(p) for p in plates])


# ---------------------------------------------------------------- files

SEEDS = {"photo": 10, "gray": 7, "truncated": 16}


def encode(im, **kw):
    f = io.BytesIO()
    im.save(f, "JPEG", **kw)
    return f.getvalue()


def make_photo(a):
    return encode(photo(a.scale), quality=85, subsampling="4:2:0")


def make_portrait(a):
    exif = Image.Exif()
    exif[0x0112] = 6                             # show turned 90 degrees clockwise
    return encode(portrait().transpose(Image.Transpose.ROTATE_90), quality=82, subsampling="4:2:0", exif=exif)


def make_progressive(a):
    return encode(spheres(), quality=88, subsampling="4:4:4", progressive=True)


def make_gray(a):
    return encode(small_landscape(640, 480, SEEDS["gray"], horizon=.66).convert("L"), quality=85)


def make_cmyk(a):
    return encode(inks(), quality=90)


def make_restart(a):
    return encode(pebbles(), quality=80, subsampling="4:2:2", restart_marker_rows=1)


def make_truncated(a):
    data = encode(small_landscape(640, 480, SEEDS["truncated"], horizon=.62), quality=85, subsampling="4:2:0")
    return data[:len(data) * 60 // 100]


FILES = {
    "photo.jpg": make_photo,
    "portrait-exif6.jpg": make_portrait,
    "progressive.jpg": make_progressive,
    "gray.jpg": make_gray,
    "cmyk.jpg": make_cmyk,
    "restart.jpg": make_restart,
    "truncated.jpg": make_truncated,
}


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    ap.add_argument("--scale", type=int, default=2, help="supersampling of photo.jpg (default 2, as shipped)")
    ap.add_argument("names", nargs="*", metavar="NAME", help="files to make (default: all)")
    a = ap.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for name in a.names or FILES:
        data = FILES[name](a)
        (a.out / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
