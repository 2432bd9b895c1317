#!/usr/bin/env python3
"""Convert data sets to the TEXMEX files that ecpbench reads.

  convert.py idx IMAGES.idx3 BASE.bvecs         MNIST-like images (.gz too)
  convert.py fashion FOLDER OUT                 Fashion-MNIST: base and query
  convert.py hdf5 SET.hdf5 OUT                  ann-benchmarks (needs h5py)
  convert.py repeat:N FOLDER OUT                base.bvecs or base.fvecs N times,
                                                with noise after the first
                                                (needs numpy)
  convert.py join:N FOLDER OUT                  each vector of .fvecs with the
                                                N - 1 that follow it, as one
  convert.py half FOLDER OUT                    elements of .fvecs rounded to
                                                float16, for halfvec

Each vector becomes a little-endian int32 with its length and then its
elements, one byte (.bvecs), float32 (.fvecs) or int32 (.ivecs) each.
"""
import glob
import gzip
import os
import shutil
import struct
import sys


def open_any(path):
    return gzip.open(path, 'rb') if path.endswith('.gz') else open(path, 'rb')


def convert_idx(source, target):
    """Images of one byte a pixel; an image becomes a vector."""
    with open_any(source) as file:
        magic, count, height, width = struct.unpack('>4i', file.read(16))
        if magic != 0x803:
            sys.exit('"%s" is not an IDX file of images' % source)
        header = struct.pack('<i', height * width)
        with open(target, 'wb') as out:
            for _ in range(count):
                out.write(header + file.read(height * width))


def convert_fashion(folder, target):
    os.makedirs(target, exist_ok=True)
    for name, part in (('train', 'base'), ('t10k', 'query')):
        found = glob.glob(os.path.join(folder, '**', name + '-images*'),
                          recursive=True)
        if not found:
            sys.exit('no %s-images* under "%s"' % (name, folder))
        convert_idx(found[0], os.path.join(target, part + '.bvecs'))


def convert_hdf5(source, target):
    try:
        import h5py
    except ImportError:
        sys.exit('hdf5 needs the Python package h5py (Debian: python3-h5py)')
    os.makedirs(target, exist_ok=True)
    parts = (('train', 'base.fvecs', '<f4'), ('test', 'query.fvecs', '<f4'),
             ('neighbors', 'truth.ivecs', '<i4'))
    with h5py.File(source, 'r') as file:
        for part, name, kind in parts:
            with open(os.path.join(target, name), 'wb') as out:
                rows = file[part]
                header = struct.pack('<i', rows.shape[1])
                for row in rows:
                    out.write(header + row.astype(kind).tobytes())


def convert_repeat(source, target, times):
    """Copies differ by normal noise of every element: of bytes, with deviation 16,
    about as far from each other as SIFT's near neighbours are; of floats, with a
    third of the elements' own deviation, which leaves a cosine of about 0.95."""
    import numpy
    os.makedirs(target, exist_ok=True)
    bytes_there = os.path.exists(os.path.join(source, 'base.bvecs'))
    suffix = 'bvecs' if bytes_there else 'fvecs'
    element = numpy.dtype('u1' if bytes_there else '<f4')
    base = numpy.fromfile(os.path.join(source, 'base.' + suffix), numpy.uint8)
    dims = int(base[:4].view('<i4')[0])
    base = base.reshape(-1, 4 + dims * element.itemsize)
    values = numpy.ascontiguousarray(base[:, 4:]).view(element)
    deviation = 16 if bytes_there else values.std() / 3
    random = numpy.random.default_rng(1)
    with open(os.path.join(target, 'base.' + suffix), 'wb') as out:
        out.write(base.tobytes())
        for _ in range(times - 1):
            noisy = random.standard_normal(values.shape, numpy.float32)
            noisy *= deviation
            noisy += values
            if bytes_there:
                numpy.clip(noisy, 0, 255, out=noisy)
            copy = base.copy()
            copy[:, 4:] = noisy.astype(element).view(numpy.uint8)
            out.write(copy.tobytes())
    shutil.copy(os.path.join(source, 'query.' + suffix), target)


def read_floats(folder, part):
    """The vectors of FOLDER/PART.fvecs, as bytes."""
    with open(os.path.join(folder, part + '.fvecs'), 'rb') as file:
        data = file.read()
    size = 4 * struct.unpack_from('<i', data)[0]
    return [data[start + 4:start + 4 + size]
            for start in range(0, len(data), 4 + size)]


def write_floats(folder, part, vectors):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, part + '.fvecs'), 'wb') as out:
        for vector in vectors:
            out.write(struct.pack('<i', len(vector) // 4) + vector)


def convert_join(source, target, count):
    for part in ('base', 'query'):
        rows = read_floats(source, part)
        write_floats(target, part,
                     (b''.join(rows[(i + j) % len(rows)] for j in range(count))
                      for i in range(len(rows))))


def convert_half(source, target):
    for part in ('base', 'query'):
        rows = read_floats(source, part)
        dims = len(rows[0]) // 4
        floats, halves = struct.Struct(f'<{dims}f'), struct.Struct(f'<{dims}e')
        write_floats(target, part,
                     (floats.pack(*halves.unpack(halves.pack(*floats.unpack(row))))
                      for row in rows))


def main():
    kinds = {'idx': convert_idx, 'fashion': convert_fashion,
             'hdf5': convert_hdf5, 'repeat': convert_repeat,
             'join': convert_join, 'half': convert_half}
    kind, _, number = (sys.argv + [''])[1].partition(':')
    if len(sys.argv) != 4 or kind not in kinds or \
            (kind in ('repeat', 'join')) != number.isdecimal():
        sys.exit(__doc__)
    kinds[kind](sys.argv[2], sys.argv[3],
                *([int(number)] if number else []))


if __name__ == '__main__':
    main()
