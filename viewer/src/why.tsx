// SPDX-License-Identifier: MIT
// Why the total changed between two files: its causes, which add up to the change.
import { Items, useAnswer } from "./data";
import { figure, share } from "./format";
import { Problem, Waiting } from "./parts";
import { matches } from "./search";

const FEW = 6;

// Shows what `cairn diff --why` says.
export function Why({ items, generation, unit, search }: { items: Items; generation: number; unit: string; search: string }) {
  const { data, error } = useAnswer("why", [...items, ["top", "20"]], generation);
  if (error) return <Problem text={error} />;
  if (!data) return <Waiting what="Dividing the change" />;
  const change = Math.abs(data.total.after - data.total.before);
  if (!data.causes.length) return <p class="note">Nothing changed.</p>;
  const causes = data.causes.filter((cause: any) => !search || [cause.block, cause.caller].some((one) => one && matches(one, search)));
  if (!causes.length) return null;
  const row = (cause: any) => (
    <tr class={cause.chance ? "chance" : ""}>
      <td class={"figure " + (cause.amount > 0 ? "more" : "less")} data-what="amount" data-value={cause.amount}>
        {(cause.amount > 0 ? "+" : "−") + figure(Math.abs(cause.amount), unit)}
      </td>
      <td class="figure">{cause.chance ? "within chance" : change ? share(cause.amount * Math.sign(data.total.after - data.total.before), change) : "–"}</td>
      <th scope="row">{cause.text}<small>{cause.path.join(" → ")}</small></th>
    </tr>
  );
  const head = <thead><tr><th scope="col" class="figure">change</th><th scope="col" class="figure">share</th><th scope="col">why</th></tr></thead>;
  return (
    <section class="why" aria-label="Why it changed">
      <h2>Why it changed</h2>
      {data.estimated_paths && <p class="note">Call paths are estimated from the numbers of calls by caller: no paths were recorded.</p>}
      {data.chance && <p class="note">The total is within chance: sampling alone can cause this difference.</p>}
      <table class="blocks causes stacked">{head}<tbody>{causes.slice(0, FEW).map(row)}</tbody></table>
      {causes.length > FEW && (
        <details>
          <summary>{causes.length + data.hidden - FEW} more causes{data.hidden ? ", the next " + (causes.length - FEW) + " of them" : ""}</summary>
          <table class="blocks causes stacked">{head}<tbody>{causes.slice(FEW).map(row)}</tbody></table>
        </details>
      )}
      {data.matches.map((match: any) => <p class="note">{match.before.name} is taken for {match.after.name}: {Math.round(100 * match.likeness)} % alike</p>)}
    </section>
  );
}
