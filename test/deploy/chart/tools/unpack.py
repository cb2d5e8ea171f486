"""Takes the strict schemas of some Kubernetes versions out of the wheel of kubernetes-validate.

Arguments: the wheel, the folder to write to, versions such as 1.37.0. The schemas lose their identifiers, which are
addresses that do not exist, so that they refer to each other by their file names.
"""

import json
import pathlib
import sys
import zipfile

wheel, folder, *versions = sys.argv[1:]
archive = zipfile.ZipFile(wheel)
for version in versions:
    source = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/"
    target = pathlib.Path(folder, f"v{version}")
    target.mkdir()
    names = [name for name in archive.namelist() if name.startswith(source) and name.endswith(".json")]
    if not names:
        sys.exit(f"{wheel} has no schemas of Kubernetes {version}.")
    for name in names:
        schema = json.loads(archive.read(name).decode().replace('"/api/_definitions.json', '"_definitions.json'))
        schema.pop("$id", None)
        (target / name.removeprefix(source)).write_text(json.dumps(schema))
