from verify.laws.reasons import reasons
from verify.search.hints import *
from verify.search.hints import Explained


def tell(self, setting, kinds, sought):
    import re

    from verify.accuracy.grades import LARGE
    from verify.search.at_sizes import ONLY_WHERE
    from verify.search.causes.extremes import INSIDE
    from verify.search.ranges import conforming_range
    from verify.search.whereabouts import by_sizes

    report = setting.report
    lossy = [c for c in report.checks if c.kind == "accuracy" and c.verdict != "conforms"]
    places = [str(c.details["place"]) for c in lossy if c.details.get("explained")]
    scenes = [str(c.details["place"]) for c in lossy if c.details.get("explains_large")]

    def place():
        if scenes and [c.name for c in report.falsified] == [LARGE]:
            return f"{self.said}: {scenes[0]}"
        said, vague = self.said, self.vague or not self.said
        if said == INSIDE and any(c.kind == "value" and c.dtype == "float32" for c in report.falsified):
            said, vague = "", True
        if not places or not vague:
            return said
        return f"{places[0]}; {said}" if said.startswith(ONLY_WHERE) else places[0]

    def raised():
        RAISED = re.compile(r" raised (\w+(?:\.\w+)*(?:: .*?)?) for \w", re.DOTALL)
        for failed in report.falsified:
            found = RAISED.search(failed.message)
            compared = failed.counterexample is not None and failed.counterexample.got is not None
            if compared or found is None:
                return ""
            where = failed.name.removeprefix("robustness: ")
            return (
                f"it raises {found[1]}, in “{where}”"
                if failed.kind == "robustness"
                else f"it raises {found[1]}"
            )
        return ""

    report.hint = place() or (raised() if sought else "")
    explains = report.hint.startswith("conforms") or by_sizes(report.hint)
    if sought and report.falsified and not explains:
        report.range = conforming_range(setting, report)


def unconfirmed(self, nearest, setting, kinds):
    from verify.search.evidence import Evidence
    from verify.search.hints import beside_conventions
    from verify.search.nearest import fully_said

    why = Explained(nearest, vague=True)
    if not fully_said(setting.judge, self.changes):
        beside = beside_conventions(Evidence(setting, kinds), setting.report)
        return beside if beside.said else why
    return why


def fully_stated(self, judge):
    from verify.search.nearest import fully_said

    return fully_said(judge, self.changes)


Explained.tell, Explained.unconfirmed, Explained.fully_stated = tell, unconfirmed, fully_stated


def explain_failures(setting, kinds):
    return reasons(setting, setting.report, kinds)
