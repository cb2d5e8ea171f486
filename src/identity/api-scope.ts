/** The API accepts only access tokens with this scope. In a file of its own, as the command line needs nothing else. */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud';
