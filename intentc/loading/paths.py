"""Locates the data that ships with intentc: next to the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent


def _shipped(in_checkout: str, in_wheel: str) -> Path:
    installed = _PACKAGE / "data" / in_wheel
    return installed if installed.exists() else _CHECKOUT / in_checkout


def schemas_directory() -> Path:
    """The folder with one folder of kinds per compiler."""
    return _shipped("config/schemas", "schemas")


def reactions_directory() -> Path:
    """The folder with the compilers' reaction maps, ``<compiler>.yml`` each."""
    return _shipped("reactions", "reactions")


def reactions_file(compiler: str) -> Path:
    """The reaction map that ships for one compiler."""
    return reactions_directory() / f"{compiler}.yml"


def etcd_roles_file() -> Path:
    """The shell script that creates the roles in etcd."""
    return _shipped("config/etcd-roles.sh", "etcd-roles.sh")


def echo_program() -> Path:
    """The program that answers behind the samples of gateways."""
    return _shipped("sample/echo.py", "sample/echo.py")
