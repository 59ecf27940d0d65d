import { Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { GetInputPropsReturnType } from '@mantine/form';
import { Marked } from '../../parts/marked.tsx';
import type { ConnectorInfo } from './rows.ts';

type Field = ConnectorInfo['fields'][number];

// Long values, such as the JSON key of a service account, get a multiline field.
const LONG_EXAMPLE_CHARACTERS = 120;

/** One field of a connector's config. Secrets can be replaced, but not read back. */
export function ConfigField({ field, input }: { field: Field; input: GetInputPropsReturnType }) {
  const { title, description, example, kind, choices, required, secret } = field;
  const common = {
    label: title,
    description: <Marked>{secret ? `${description} Stored encrypted and never shown again.` : description}</Marked>,
    placeholder: example ?? '',
    required,
    ...input,
  };
  if (kind === 'choice') return <Select {...common} data={choices} clearable={!required} />;
  if (kind === 'list') return <TagsInput {...common} />;
  if ((example?.length ?? 0) > LONG_EXAMPLE_CHARACTERS || example?.trim().startsWith('{')) {
    return <Textarea {...common} autosize minRows={3} maxRows={8} spellCheck={false} autoComplete="off" />;
  }
  return <TextInput {...common} spellCheck={false} autoComplete="off" />;
}
