import { z } from 'zod';
import { maskUrl } from '../../secrets/mask-url.ts';
import { fromOutside, outsideText } from './outside-text.ts';

/** The part of a resource that a tool shows: only the listed fields. */
export type View<Resource> = { schema: z.ZodObject; show(resource: Resource): Record<string, unknown> };

type Fields<Resource> = {
  /** Fields with values from Tollgate, such as IDs, times, and amounts. */
  plain: Partial<Record<keyof Resource & string, z.ZodType>>;
  /** Fields with text that someone outside may have written. */
  outside?: readonly (keyof Resource & string)[];
  /** URLs. They are masked here, because the API returns them unmasked to user tokens. */
  urls?: readonly (keyof Resource & string)[];
};

export function defineView<Resource extends object>(fields: Fields<Resource>): View<Resource> {
  const { plain, outside = [], urls = [] } = fields;
  const shape: Record<string, z.ZodType> = {
    ...(plain as Record<string, z.ZodType>),
    ...Object.fromEntries(urls.map((name) => [name, z.string().nullable()])),
    ...Object.fromEntries(outside.map((name) => [name, outsideText.nullable()])),
  };
  return {
    schema: z.object(shape),
    show(resource) {
      const values = resource as Record<string, unknown>;
      const shown = (name: string) => {
        if ((outside as readonly string[]).includes(name)) return fromOutside(values[name]);
        const isUrl = (urls as readonly string[]).includes(name) && typeof values[name] === 'string';
        return isUrl ? maskUrl(values[name] as string) : (values[name] ?? null);
      };
      return Object.fromEntries(Object.keys(shape).map((name) => [name, shown(name)]));
    },
  };
}

/** A page of a list. */
export function pageOf(view: { schema: z.ZodObject }) {
  return z.object({
    data: z.array(view.schema),
    nextCursor: z
      .string()
      .nullable()
      .describe('Pass this cursor as `after` to get the next page. Null on the last page.'),
  });
}

type Listed<Resource> = { page(): Promise<{ data: Resource[]; nextCursor: string | null }> };

/** Reads a page, and shows its items. */
export async function showPage<Resource>(list: Listed<Resource>, view: View<Resource>) {
  const { data, nextCursor } = await list.page();
  return { data: data.map(view.show), nextCursor };
}
