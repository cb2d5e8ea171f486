/**
 * Thrown by a processor that stops before it has begun a job: another worker gets the job at once, instead of after the
 * duration of a lock.
 */
export class HandBack extends Error {}
