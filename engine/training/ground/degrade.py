"""What videos suffer on their way: blur, reduction by several filters, sensor noise, real encoders.

Pictures are RGB [H, W, 3], float32 in 0..255; planes are limited-range bytes. All randomness comes from the
generator handed in, except that encoders may differ between their versions and, rarely, from run to run.
"""
import io
import subprocess

import numpy as np

from .photos import chroma, luma, mean_of_four
from .resize import resize, to_bytes

DOWN_FILTERS = {'bicubic': 0.5, 'lanczos3': 0.2, 'area': 0.15, 'bilinear': 0.15}
# codec → (odds, range of its quality number (lower is better), name of that number)
CODECS = {
    'libx264': (0.5, (16, 38), 'crf'),
    'libx265': (0.2, (16, 38), 'crf'),
    'libvpx-vp9': (0.15, (18, 52), 'crf'),
    'mpeg4': (0.15, (2, 14), 'qscale'),
}


def pick(rng, odds):
    """One of the keys of {name: odds}."""
    values = np.array(list(odds.values()), float)
    return list(odds)[rng.choice(len(values), p=values / values.sum())]


def blur_kernel(rng, widest=1.3):
    """[7, 7] Gaussian, sum 1, of two widths (0.3..widest pixels) at any angle."""
    angle, (a, b) = rng.uniform(0, np.pi), rng.uniform(0.3, widest, 2)
    y, x = np.mgrid[-3:4, -3:4].astype(float)
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    kernel = np.exp(-0.5 * ((u / a) ** 2 + (v / b) ** 2))
    return (kernel / kernel.sum()).astype(np.float32)


def convolve(picture, kernel):
    """A picture [H, W, C] with a small kernel, borders repeated."""
    r = kernel.shape[0] // 2
    padded = np.pad(picture, ((r, r), (r, r), (0, 0)), 'edge')
    h, w = picture.shape[:2]
    out = np.zeros_like(picture)
    for (i, j), weight in np.ndenumerate(kernel):
        if weight > 1e-4:
            out += weight * padded[i:i + h, j:j + w]
    return out


def to_linear(x):
    """sRGB bytes to linear light 0..1 (IEC 61966-2-1)."""
    x = np.clip(x, 0, 255) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def to_gamma(x):
    x = np.clip(x, 0, 1)
    return 255 * np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)


def reduce(picture, kernel, linear, scale=2):
    """A picture reduced by `scale`, in linear light or as it is."""
    h, w = picture.shape[0] // scale, picture.shape[1] // scale
    if linear:
        return to_gamma(resize(to_linear(picture), h, w, kernel)).astype(np.float32)
    return np.clip(resize(picture, h, w, kernel), 0, 255)


def sensor_noise(rng, shape, level, picture, coarse):
    """Noise of a sensor, [..., 3]: its variance grows with the light; `coarse` spreads it over neighbours.

    `level` is the standard deviation in mid grey, in 8-bit levels.
    """
    noise = rng.standard_normal(shape, np.float32)
    if coarse:
        noise = (noise + np.roll(noise, 1, -2) + np.roll(noise, 1, -3) + np.roll(noise, (1, 1), (-2, -3))) / 2
    return noise * level * np.sqrt(0.4 + 0.6 * picture / 128)


def planes_of(rgb, subsample=True):
    """Limited-range BT.601 (Y, Cb, Cr) bytes; chroma at half the size (mean of four) when subsampled."""
    return [to_bytes(luma(rgb)), *(to_bytes(mean_of_four(c) if subsample else c) for c in chroma(rgb))]


def draw_coding(rng):
    """How a clip is encoded: {'codec', 'quality', 'preset'}."""
    codec = pick(rng, {name: c[0] for name, c in CODECS.items()})
    low, high = CODECS[codec][1]
    return {'codec': codec, 'quality': int(rng.integers(low, high + 1)),
            'preset': str(rng.choice(['veryfast', 'fast', 'medium']))}


def _options(coding):
    """With 'key_interval': a key frame at each such number of pictures, and none between."""
    options = _quality_options(coding)
    if 'key_interval' not in coding:
        return options
    keys = {'g': str(coding['key_interval'])}
    if coding['codec'] == 'libx264':
        keys['sc_threshold'] = '0'
    if coding['codec'] == 'libx265':
        keys['x265-params'] = options['x265-params'] + ':scenecut=0'
    return {**options, **keys}


def _quality_options(coding):
    codec, quality = coding['codec'], str(coding['quality'])
    if codec == 'libx264':
        return {'crf': quality, 'preset': coding['preset'], 'threads': '1'}
    if codec == 'libx265':
        return {'crf': quality, 'preset': 'veryfast', 'x265-params': 'pools=none:frame-threads=1:log-level=none'}
    if codec == 'libvpx-vp9':
        return {'crf': quality, 'b': '0', 'cpu-used': '5', 'deadline': 'good', 'threads': '1'}
    if codec == 'libvpx':
        return {'qmin': quality, 'qmax': quality, 'b': '20000000', 'cpu-used': '5', 'deadline': 'good', 'threads': '1'}
    return {'qmin': quality, 'qmax': quality, 'b': '20000000', 'threads': '1'}


def code(clip, coding, rate=25):
    """A clip [[Y, Cb, Cr], …] through an encoder and its decoder; the same form, as many pictures."""
    return code_sized(clip, coding, rate)[0]


def code_sized(clip, coding, rate=25):
    """(the clip as `code` gives it, bits that it took)."""
    import av  # here, because training on finished shards needs none of it

    with av.open(io.BytesIO(encoded(clip, coding, rate))) as source:
        frames, size = [], 0
        for packet in source.demux(video=0):
            size += packet.size
            frames += packet.decode()
    decoded = [[_values(p) for p in frame.planes[:3]] for frame in frames]
    if len(decoded) < len(clip) and coding['codec'] == 'libtheora':
        # A picture that is the one before takes no byte, and nothing is decoded for it.
        at = [round((frame.time - frames[0].time) * rate) for frame in frames]
        decoded = [decoded[max(n for n, place in enumerate(at) if place <= k)] for k in range(len(clip))]
    if len(decoded) != len(clip):
        raise RuntimeError(f'{coding} gave {len(decoded)} of {len(clip)} pictures')
    return decoded, 8 * size


def encoded(clip, coding, rate=25, container=None):
    """The bytes of a file. container: FFmpeg's name of its format; default: one that holds what the codec makes."""
    if coding['codec'] == 'libtheora':
        return _by_program(clip, coding, rate)
    return _by_library(clip, coding, rate, container or ('nut' if coding['codec'] in ('flv', 'h263p') else 'matroska'))


def _by_program(clip, coding, rate):
    """The bytes of an encode by a whole FFmpeg (of imageio-ffmpeg), for encoders that PyAV's library lacks."""
    import imageio_ffmpeg

    height, width = clip[0][0].shape
    source = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', f'{width}x{height}', '-r', str(rate), '-i', '-']
    command = [imageio_ffmpeg.get_ffmpeg_exe(), '-v', 'error', *source, '-c:v', coding['codec'], '-q:v', str(coding['quality']),
               *(['-g', str(coding['key_interval'])] if 'key_interval' in coding else []), '-f', 'matroska', '-']
    raw = b''.join(plane.tobytes() for planes in clip for plane in planes)
    return subprocess.run(command, input=raw, stdout=subprocess.PIPE, check=True).stdout


def _by_library(clip, coding, rate, container):
    import av

    layout = 'yuv444p' if clip[0][1].shape == clip[0][0].shape else 'yuv420p'
    height, width = clip[0][0].shape
    memory = io.BytesIO()
    if coding['codec'] == 'mjpeg':
        layout = layout.replace('yuv', 'yuvj')
    with av.open(memory, 'w', format=container) as sink:
        stream = sink.add_stream(coding['codec'], rate, options=_options(coding))
        stream.width, stream.height, stream.pix_fmt = width, height, layout
        for number, planes in enumerate(clip):
            frame = av.VideoFrame(width, height, layout)
            for plane, values in zip(frame.planes, planes):
                line = np.zeros((plane.height, plane.line_size), np.uint8)
                line[:, :plane.width] = values
                plane.update(line.tobytes())
            frame.pts = number
            sink.mux(stream.encode(frame))
        sink.mux(stream.encode(None))
    return memory.getvalue()


def _values(plane):
    lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return lines[:plane.height, :plane.width].copy()
