/**
 * The label of the field for the name, by the names that the organization allows; without an organization, by all.
 * @param names `userName`, `loginName`, `email`
 */
export function nameLabel(names: readonly string[]): string {
  if (!names.includes('email')) return 'Login name';
  return names.length === 1 ? 'Email' : 'Login name or email';
}
