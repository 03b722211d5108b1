"""What the package raises. Every message names the values at fault and what would be right."""


class Error(Exception):
    """Base of all errors of this package.

    Attributes:
        code: "invalid argument", "busy", "deadline", "peer failed", "mesh dead", "out of memory",
            "unsupported", "bad file" or "io".
        rank: position on the axis of the rank at fault, or -1 where no rank is.
    """

    code = "error"

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank


class InvalidArgumentError(Error, ValueError):
    """The caller's mistake. Where other ranks wait already, it also ends the mesh."""

    code = "invalid argument"


class BusyError(Error):
    """The plan or axis already runs a call of this rank."""

    code = "busy"


class DeadlineError(Error, TimeoutError):
    """A wait ended before what it waited for happened."""

    code = "deadline"


class PeerFailedError(Error, ConnectionError):
    """Another rank failed; the message carries its reason."""

    code = "peer failed"


class MeshDeadError(Error):
    """An earlier call failed; make a new mesh."""

    code = "mesh dead"


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed; the message says how many bytes."""

    code = "out of memory"


class UnsupportedError(Error, NotImplementedError):
    """This build or machine lacks what was asked for."""

    code = "unsupported"


class BadFileError(Error, ValueError):
    """A file's content is not what its format demands."""

    code = "bad file"


class IoError(Error, OSError):
    """The operating system refused a file operation."""

    code = "io"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
