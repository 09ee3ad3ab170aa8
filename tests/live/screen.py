"""A terminal of the VT100 family, as far as status lines go: what a user would see."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[([\d;]*)([A-Za-z])|\x1b([78D])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Rows of text with a cursor and a scrolling region; unknown escape codes are an error."""

    def __init__(self, rows: int = 24, columns: int = 80) -> None:
        self._columns = columns
        self.lines = [" " * columns for _ in range(rows)]
        self.scrolled_off: list[str] = []
        self.region = self.whole = (0, rows - 1)
        self._cursor = self._saved = (0, 0)

    def feed(self, text: str) -> Screen:
        """Show what a program wrote; returns itself."""
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            assert token is not None, f"unknown code: {text[position : position + 10]!r}"
            position = token.end()
            parameters, command, short, control, printed = token.groups()
            if command:
                self._command(command, [int(n) for n in parameters.split(";") if n])
            elif short:
                self._short(short)
            elif control == "\r":
                self._cursor = (self._cursor[0], 0)
            elif control == "\n":
                self._down()
            else:
                self._print(printed)
        return self

    @property
    def text(self) -> list[str]:
        """All lines that were ever shown and not overwritten, without trailing blanks."""
        lines = [line.rstrip() for line in (*self.scrolled_off, *self.lines)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _command(self, command: str, numbers: list[int]) -> None:
        row, column = self._cursor
        if command == "r":
            top, bottom = (n - 1 for n in numbers) if numbers else self.whole
            self.region, self._cursor = (top, bottom), (0, 0)
        elif command == "H":
            row, column = (n - 1 for n in numbers) if numbers else (0, 0)
            self._cursor = (row, column)
        elif command == "A":
            self._cursor = (max(0, row - (numbers or [1])[0]), column)
        elif command == "K":
            assert numbers == [2]
            self.lines[row] = " " * self._columns
        else:
            assert command == "m", f"unknown command: {command}"

    def _short(self, code: str) -> None:
        if code == "7":
            self._saved = self._cursor
        elif code == "8":
            self._cursor = self._saved
        else:
            self._down()

    def _down(self) -> None:
        row, column = self._cursor
        top, bottom = self.region
        if row == bottom:
            gone = self.lines.pop(top)
            self.lines.insert(bottom, " " * self._columns)
            self.scrolled_off += [gone] if top == 0 else []
        elif row < self.whole[1]:
            self._cursor = (row + 1, column)

    def _print(self, text: str) -> None:
        for character in text:
            if self._cursor[1] == self._columns:
                self._cursor = (self._cursor[0], 0)
                self._down()
            row, column = self._cursor
            line = self.lines[row]
            self.lines[row] = line[:column] + character + line[column + 1 :]
            self._cursor = (row, column + 1)
