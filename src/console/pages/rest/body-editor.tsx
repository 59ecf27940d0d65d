import { Anchor, Group } from '@mantine/core';
import { useCallback } from 'react';
import { checkJson, type JsonFault } from '../../api/json-check.ts';
import type { JsonSchema, RestReference } from '../../api/openapi.ts';
import { JsonEditor } from '../../parts/json-editor.tsx';

/** An editor for a request body, which starts with an example. */
export function BodyEditor(props: {
  schema: JsonSchema;
  schemas: RestReference['schemas'];
  text: string;
  example: string;
  faults: readonly JsonFault[];
  onChange(text: string): void;
}) {
  const { schema, schemas, text, example, faults, onChange } = props;
  const check = useCallback((value: unknown) => checkJson(schema, value, schemas), [schema, schemas]);
  const [first] = faults;
  return (
    <>
      <JsonEditor
        label="Body"
        description="Used in the samples, and sent by “Try it”."
        value={text}
        onChange={onChange}
        check={check}
        error={first && (first.pointer ? `${first.pointer}: ${first.message}` : first.message)}
        minLines={3}
        maxLines={24}
      />
      {text !== example && (
        <Group>
          <Anchor component="button" type="button" onClick={() => onChange(example)}>
            Reset to the example
          </Anchor>
        </Group>
      )}
    </>
  );
}
