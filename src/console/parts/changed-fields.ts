/**
 * The fields of a form's input that the user has changed. The others may have been changed elsewhere since the form was
 * opened, and sending them would undo that without anyone noticing.
 *
 * @param before the input as it would have been when the form was opened.
 */
export function changedFields<Input extends object>(input: Input, before: Input): Partial<Input> {
  const stored = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  const changed = Object.entries(input).filter(([name, value]) => stored.get(name) !== JSON.stringify(value));
  return Object.fromEntries(changed) as Partial<Input>;
}
