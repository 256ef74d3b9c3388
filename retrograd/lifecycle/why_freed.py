"""RG101, told: from the evidence about a freed node to spans, a cause and advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..diagnostics.errors import RetrogradError, make_error
from ..diagnostics.report import Edit, Fix, Report, Span, advice
from .evidence import (
    CallFacts,
    FreedEvidence,
    NodeFacts,
    freed_evidence,
    operand_name,
    reached_site,
    result_name,
    site_of,
)
from .site import CallSite, user_site
from .wording import (
    Story,
    add_argument,
    append_to_name,
    call_name,
    describe_node,
    expression,
    line_after,
    line_reference,
    operation,
    quoted,
    receiver,
    sentence,
)

TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)

RETAIN_NOTE = (
    "retain_graph=True keeps every earlier step in memory, and stops with RG102 once an optimizer "
    "changes a weight that those steps used"
)


def freed_error(
    node: NodeFacts,
    consumer: NodeFacts | None,
    call: CallFacts | None,
    roots: Sequence[NodeFacts],
    notes: tuple[str, ...] = (),
) -> RetrogradError:
    """The error for `node`, whose saved values were freed before `call` came to it.

    `consumer` is the node that led there (None if `node` is a root), `call` is None when a saved
    value was read directly instead of by a backward pass. `notes` come after the report's own.
    """
    report: Report | None = None
    try:
        if call is None or node.freed is None:
            report = _read_after_free(node)
        else:
            evidence = freed_evidence(node, consumer, call, roots)
            case = _Case(evidence, node, node.freed, call, roots)
            report = (_interrupted if case.retried else _TELLERS[case.cause])(case)
        report = replace(report, notes=(*report.notes, *notes))
    except Exception:
        report = None  # the error itself matters more than its explanation
    return make_error(TWICE, code="RG101", report=report)


class _Case:
    """The facts of one failure, with the words that several reasons share."""

    def __init__(
        self,
        evidence: FreedEvidence,
        freed: NodeFacts,
        freeing: CallFacts,
        call: CallFacts,
        roots: Sequence[NodeFacts],
    ) -> None:
        self.cause: str | None = evidence.cause
        self.evidence = evidence
        self.freed = freed
        self.freeing = freeing
        self.call = call
        self.roots = roots
        self.carried = evidence.carried
        self.consumer = evidence.consumer
        self.call_site = site_of(call)
        self.freeing_site = site_of(freeing)
        self.consumer_site = CallSite(None, 0) if self.consumer is None else site_of(self.consumer)
        self.made_as = result_name(self.carried)
        self.used_as = operand_name(self.carried, self.consumer)
        self.name = self.made_as or self.used_as
        self.subject = quoted(self.name, f"the result of `{expression(self.carried)}`")
        self.first, self.second = call_name(freeing), call_name(call)
        # The same three at the start of a sentence.
        self.Subject, self.First, self.Second = map(
            sentence, (self.subject, self.first, self.second)
        )
        loop = self.call_site.loop() if self.freeing_site == self.call_site else None
        self.loop_line = None if loop is None else loop.header
        self.interruption = None if freeing is call else freeing.interrupted_by
        self.retried = bool(self.interruption) and self.cause in ("same-loss-twice", None)
        if self.retried:
            self.cause = "interrupted"

    def created(self, story: Story, label: str = "created here") -> None:
        """The line that made the value."""
        story.add(site_of(self.carried), f"{label}: {describe_node(self.carried)}")

    def released(self, story: Story) -> None:
        """The call that freed the graph."""
        label = f"freed here: {self.first}, {_kept_by(self.freeing)}; it "
        if self.interruption:
            label += f"stopped with {self.interruption}"
        else:
            count = self.freeing.nodes_run
            label += f"walked {count} node{'' if count == 1 else 's'}"
        story.add(self.freeing_site, label)

    def used_again(self, story: Story, label: str = "used again here") -> None:
        """The line that leads the failing call to the value."""
        if self.consumer is None:
            story.add(self.call_site, f"{self.second} needs it again here", primary=True)
            return
        where = line_reference(self.call_site, self.consumer_site)
        what = f"{operation(self.consumer)}, node {self.consumer.sequence}"
        reached = f"reached by {self.second}" + (f" ({where})" if where else "")
        story.add(self.consumer_site, f"{label}: {what}, {reached}", primary=True)

    def spans(self) -> tuple[Span, ...]:
        """Created, freed, used again."""
        story = Story()
        self.created(story)
        self.released(story)
        self.used_again(story)
        return story.finish()

    def retain(self, text: str) -> Fix:
        """Advice to keep the graph at the first call."""
        return advice(text, add_argument(self.freeing_site, "retain_graph=True"), "retain-graph")

    def keep_behind(self) -> str:
        """The rest of such advice: a list keeps less."""
        if self.name is None or not self.name.isidentifier():
            return ""
        return f"; retain_graph=[{self.name}] keeps only what is behind it"

    def detach_where_used(self) -> Edit | None:
        """The edit that detaches the value on the consuming line.

        Within a function that was only handed the value, detaching would also cut all its other
        uses, and where it is the only way to a leaf, nothing would be trained: then there is none.
        """
        if self.evidence.detaching_starves:
            return None
        is_variable = self.used_as is not None and self.used_as == self.made_as
        if not is_variable and (self.consumer is None or self.consumer.code is not self.call.code):
            return None
        return append_to_name(self.consumer_site, self.used_as, ".detach()")

    def report(
        self, title: str, why: str, helps: Sequence[Fix], notes: Sequence[str] = (), **more: object
    ) -> Report:
        """The finished report."""
        spans = more.get("spans") or self.spans()
        assert isinstance(spans, tuple)
        return Report("RG101", title, spans, why, tuple(helps), tuple(notes), self.cause or "")

    def still_leads(self) -> str:
        """The usual title."""
        return f"{self.subject} still leads into a graph that was already freed"


def _kept_by(freeing: CallFacts) -> str:
    """The argument with which a call freed a node: a list does not name what is in front of it."""
    return "retain_graph=False" if freeing.kept is None else "not behind its retain_graph=[...]"


def _carried_state(case: _Case) -> Report:
    steps = "from one pass of the loop into the next" if case.loop_line else "from an earlier step"
    if case.loop_line is None:
        steps += " into this one"
    why = (
        f"{case.Subject} was carried {steps}. {case.Second} follows it back into the "
        f"earlier {'pass' if case.loop_line else 'step'}, and the values saved there were released "
        f"when {case.first} finished."
    )
    helps = [_detach_carried(case)]
    helps.append(
        advice(
            "if they should flow through all steps, add up the losses and call backward() once, "
            f"after {'the loop' if case.loop_line else 'the last step'}",
            kind="combine-losses",
        )
    )
    return case.report(case.still_leads(), why, helps, (RETAIN_NOTE,))


def _detach_carried(case: _Case) -> Fix:
    text = "if gradients should stop at the step boundary, detach the carried value"
    if not case.evidence.consumer_also_takes_fresh:
        return advice(text, case.detach_where_used(), "detach")
    # The consuming line also links the steps within one pass: detaching there would cut those too.
    edit: Edit | None = None
    if case.made_as is not None and case.carried.code is case.call.code:
        edit = line_after(case.call_site, f"{case.made_as} = {case.made_as}.detach()")
    return advice(f"{text} once per pass, after backward()", edit, "detach")


def _running_total(case: _Case) -> Report:
    why = (
        f"{case.Subject} contains the losses of earlier steps, on which {case.first} was already "
        f"called. {case.Second} would walk those steps again, and their saved values are "
        "released."
    )
    loss = receiver(case.call_site)
    helps = [
        advice(
            "call backward() on this step's loss only, and add it to the total by .item()",
            kind="item-for-logging",
        ),
        advice(
            "to train on the total, call backward() on it once, after the last step; or start a "
            "new total after each call",
            kind="reset-state",
        ),
    ]
    title = f"{quoted(loss, case.subject)} still contains losses whose graph was already freed"
    return case.report(title, why, helps, (RETAIN_NOTE,))


def _built_outside(case: _Case) -> Report:
    where = "before the loop" if case.loop_line else "once"
    why = (
        f"{case.Subject} was computed {where}, and each backward pass goes through its graph. "
        f"{case.First} released what was saved there; {case.second} needs it again."
    )
    made = site_of(case.carried).line if case.carried.code is case.call.code else None
    if case.loop_line and made is not None:
        recompute = (
            f"if what made {case.subject} is trained, compute it in every pass: move line {made} "
            f"into the loop that starts at line {case.loop_line}"
        )
    else:
        recompute = (
            f"if what made {case.subject} is trained, compute it again before each backward pass"
        )
    constant = "if it should be a constant here, detach it"
    helps = [advice(recompute, kind="recompute-forward")]
    if not case.evidence.detaching_starves:
        helps.append(advice(constant, case.detach_where_used(), "detach"))
    return case.report(case.still_leads(), why, helps, (RETAIN_NOTE,))


def _one_result(case: _Case) -> Report:
    story = Story()
    case.created(story)
    first_use = reached_site(case.carried)
    if first_use != case.consumer_site:
        story.add(first_use, f"used first here, reached by {case.first}")
    case.released(story)
    case.used_again(story)
    why = (
        f"{case.Subject} is used by two losses. {case.First} went through it for the "
        f"first one and released what was saved behind it; {case.second} comes to it again for the "
        "second."
    )
    name = _name_at(first_use, case)
    edit = append_to_name(first_use, name, ".detach()")
    value = quoted(name or case.name, "it")
    helps = [
        advice(
            f"if the first loss should not train what made {value} (a GAN's discriminator step), "
            "detach it there",
            edit,
            "detach",
        ),
        advice(
            "if the second one should not (a critic's value in the actor's loss), detach it there",
            case.detach_where_used(),
            "detach",
        ),
        case.retain(
            "if both losses should train it, keep the graph at the first call" + case.keep_behind()
        ),
        advice(
            "or compute it again for the second loss, after the weights have changed",
            kind="recompute-forward",
        ),
    ]
    note = (
        "retain_graph=True stops with RG102 if an optimizer changes, between the two calls, a "
        "weight that the second one needs"
    )
    return case.report(case.still_leads(), why, helps, (note,), spans=story.finish())


def _name_at(site: CallSite, case: _Case) -> str | None:
    """The variable that held the value at its first use."""
    names = site.names() or ()
    for name in (case.made_as, case.used_as):
        if name in names:
            return name
    return names[0] if len(names) == 1 else None


def _shared(case: _Case) -> Report:
    user = case.consumer
    made_later = user is not None and user.sequence > case.freeing.number
    return _one_result(case) if made_later else _shared_trunk(case)


def _shared_trunk(case: _Case) -> Report:
    first, second = receiver(case.freeing_site), receiver(case.call_site)
    losses = "two losses"
    total = "on their sum"
    if first and second and first != second:
        losses = f"`{first}` and `{second}`"
        total = f"on the sum: ({first} + {second}).backward()"
    why = (
        f"{sentence(losses)} were computed from one {case.subject}, before either backward pass. "
        f"{case.First} released what was saved behind it; {case.second} needs it too."
    )
    title = f"{case.subject} is shared by {losses}, and the first backward freed its graph"
    helps = [
        advice(f"call backward() once, {total}", kind="combine-losses"),
        case.retain("or keep the graph at the first call" + case.keep_behind()),
    ]
    note = (
        "with retain_graph=True, an optimizer step between the two calls raises RG102 if it "
        "changes a weight that the second one needs"
    )
    return case.report(title, why, helps, (note,))


def _same_loss(case: _Case) -> Report:
    root = case.evidence.root
    name = result_name(root) or receiver(case.call_site)
    loss = quoted(name, "this result")
    story = Story()
    case.created(story)
    case.released(story)
    story.add(case.call_site, f"asked for again here: {case.second}", primary=True)
    why = (
        f"A graph is walked once: {case.first} released the values it used. {loss} was not "
        f"computed again before {case.second}."
    )
    helps = [_rerun_forward(case), case.retain(f"to walk it twice, keep it at {case.first}")]
    if case.freeing_site != case.call_site:
        helps.append(
            advice(f"or drop {case.second}, if one is enough", kind="remove-extra-backward")
        )
    title = f"{loss} was already walked backward, and its graph freed"
    return case.report(title, why, helps, spans=story.finish())


def _rerun_forward(case: _Case) -> Fix:
    made = site_of(case.carried).line
    loop = case.call_site.loop() if case.loop_line else None
    if loop is not None and made is not None and case.carried.code is case.call.code:
        if made not in loop:
            return advice(
                "run the forward pass in every pass of the loop: move it below line "
                f"{case.loop_line}",
                kind="recompute-forward",
            )
    return advice("run the forward pass again before each backward()", kind="recompute-forward")


def _interrupted(case: _Case) -> Report:
    why = (
        f"{case.First} stopped halfway, with {case.interruption}. What it had walked until then "
        f"was released, so {case.second} cannot start over. The gradients of the leaves that it "
        "reached were added to their .grad."
    )
    helps = [
        advice(
            "set the gradients to zero (optimizer.zero_grad()), run the forward pass again and "
            "call backward() on its result",
            kind="recompute-forward",
        ),
        case.retain(f"to be able to call it again, keep the graph at {case.first}"),
    ]
    title = f"the graph behind {case.subject} was freed in part by a call that was interrupted"
    return case.report(title, why, helps)


def _freed_by_grad(case: _Case) -> Report:
    story = Story()
    case.created(story)
    label = f"freed here: autograd.grad ({case.first}), {_kept_by(case.freeing)}"
    story.add(case.freeing_site, label)
    if case.consumer is None:
        story.add(case.call_site, f"needed again here: {case.second}", primary=True)
    else:
        case.used_again(story)
    why = (
        "autograd.grad() frees the graph it walks, as backward() does, unless it is told to keep "
        f"it. {case.Second} needs the same graph again."
    )
    helps = [
        case.retain("keep the graph at the first call"),
        advice(
            "if the gradient is itself part of a loss (a gradient penalty), create its graph, "
            "which keeps this one too",
            add_argument(case.freeing_site, "create_graph=True"),
            "create-graph",
        ),
    ]
    behind = quoted(case.name, "this result")
    title = f"autograd.grad() already freed the graph behind {behind}"
    return case.report(title, why, helps, spans=story.finish())


def _undecided(case: _Case) -> Report:
    why = (
        f"{case.Second} comes to values that {case.first} used and released. The records "
        "do not tell whether the value was carried over from an earlier step or computed once and "
        "used twice."
    )
    if case.freeing is case.call:
        why = f"{case.Second} comes twice to a value that it has itself released."
    helps = [
        advice(
            "if it belongs to an earlier step, detach it where it enters this one",
            case.detach_where_used(),
            "detach",
        ),
        advice("if it is still trained, compute it again in every step", kind="recompute-forward"),
        advice("if two losses need it, call backward() once, on their sum", kind="combine-losses"),
    ]
    return case.report(case.still_leads(), why, helps)


def _read_after_free(node: NodeFacts) -> Report:
    story = Story()
    story.add(site_of(node), f"created here: {describe_node(node)}")
    helps: list[Fix] = []
    freeing: CallFacts | None = node.freed
    why = "The values were released when a backward pass had used them."
    if freeing is not None:
        label = f"freed here: {call_name(freeing)}, {_kept_by(freeing)}"
        story.add(site_of(freeing), label)
        why = f"The values were released when {call_name(freeing)} had used them."
        edit = add_argument(site_of(freeing), "retain_graph=True")
        helps.append(advice("to keep them, retain the graph at that call", edit, "retain-graph"))
    helps.append(advice("or read them before the backward pass"))
    story.add(CallSite(*user_site()), "read here", primary=True)
    title = f"a value that `{operation(node)}` saved was read after it was freed"
    return Report("RG101", title, story.finish(), why, tuple(helps), cause="read-after-free")


_TELLERS: dict[str | None, Callable[[_Case], Report]] = {
    "stale-state-carried": _carried_state,
    "accumulated-history": _running_total,
    "precomputed-outside-loop": _built_outside,
    "shared-subgraph": _shared,
    "same-loss-twice": _same_loss,
    "freed-by-grad-call": _freed_by_grad,
    None: _undecided,
}
