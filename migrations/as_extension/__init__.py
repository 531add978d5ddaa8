"""The same objects as an extension: `CREATE EXTENSION pgblend; SELECT blend.install();`.

The extension owns what needs no table when it is created: schemas, types, most routines. What binds
to tables, and these, are made by blend.install() and belong to nobody, so that a dump has them.
"""
