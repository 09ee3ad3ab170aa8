"""Jobs of many hosts: each host's evidence reduced where there is room for it, joined, and judged
together.

:mod:`members` finds the hosts, :mod:`host` reduces one, :mod:`engines` does that for all,
:mod:`kept` has the form in which a host is kept, :mod:`cache` keeps it, :mod:`joined` puts them
into one evidence, :mod:`xladoctor.causes.clocks` compares their clocks and steps, and
:mod:`xladoctor.diagnosis.by_host` joins what was found on each.
"""
