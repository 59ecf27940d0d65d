import { Checkbox, type CheckboxGroupProps, Group } from '@mantine/core';

/** The methods that endpoints can serve. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** The service's default for new endpoints. */
export const DEFAULT_METHODS = ['GET', 'HEAD', 'POST'];

/** Selects an endpoint's methods. */
export function MethodsField(props: Omit<CheckboxGroupProps, 'children'>) {
  return (
    <Checkbox.Group
      label="Methods"
      description="Requests with other methods get a 405 response. To charge a different price for a method, add another endpoint with the same path."
      {...props}
    >
      <Group gap="md" mt={6} mb={4}>
        {METHODS.map((method) => (
          <Checkbox key={method} value={method} label={method} />
        ))}
      </Group>
    </Checkbox.Group>
  );
}

/** A short description of an endpoint's methods. */
export function methodsText(methods: readonly string[]): string {
  return methods.length === METHODS.length ? 'All methods' : methods.join(', ');
}

/** Whether requests with this method have a body. */
export function hasRequestBody(method: string): boolean {
  return ['POST', 'PUT', 'PATCH'].includes(method);
}
