"""Secrets from files: VERIFIER_API_KEY_FILE names the file that holds VERIFIER_API_KEY."""

import os
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource, SettingsError

SUFFIX = "_FILE"
MOST_BYTES = 65536


class SecretFiles(PydanticBaseSettingsSource):
    """For each secret that a setting holds, the variable of its name and _FILE. Raises SettingsError."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if SecretStr not in getattr(field.annotation, "__args__", ()):
            return None, field_name, False
        variable = f"{self.config.get('env_prefix', '')}{field_name}".upper() + SUFFIX
        path = os.environ.get(variable)
        return (_content(variable, path) if path else None), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}


def _content(variable: str, path: str) -> str:
    """The secret, without the line end that editors put behind it. An empty file is a mistake, not an open door."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            secret = file.read(MOST_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{variable} names a file that cannot be read: {error}") from None
    if not secret:
        raise SettingsError(f"{variable} names a file that holds nothing: {path}")
    return secret
