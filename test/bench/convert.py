#!/usr/bin/env python3
"""Convert data sets to the TEXMEX files that ecpbench reads.

  convert.py idx IMAGES.idx3 BASE.bvecs         MNIST-like images (.gz too)
  convert.py fashion FOLDER OUT                 Fashion-MNIST: base and query
  convert.py hdf5 SET.hdf5 OUT                  ann-benchmarks (needs h5py)

Each vector becomes a little-endian int32 with its length and then its
elements, one byte (.bvecs), float32 (.fvecs) or int32 (.ivecs) each.
"""
import glob
import gzip
import os
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


def main():
    kinds = {'idx': convert_idx, 'fashion': convert_fashion,
             'hdf5': convert_hdf5}
    if len(sys.argv) != 4 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    kinds[sys.argv[1]](sys.argv[2], sys.argv[3])


if __name__ == '__main__':
    main()
