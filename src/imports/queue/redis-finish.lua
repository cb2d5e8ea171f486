-- Completes many jobs of a queue and hands out as many of the next ones as wait, as `moveToFinished` of BullMQ 6.7 does for
-- each of them.
--
-- It does the simple case only: jobs that are removed when they end, without parent, children, logs or deduplication, of a
-- queue that is neither paused nor limited and has no delayed or prioritized jobs. It checks this before the first write.
-- Where a condition does not hold it returns nil and has written nothing. What is the same for all jobs is done once: four
-- commands a job remain of twenty-two, and two more if the queue keeps an event stream.
--
-- On failure: Redis keeps what a script wrote before an error. The completed jobs are removed by the last write, so that an
-- error before it leaves them active under their locks, and BullMQ's script can complete each of them. A next job is at
-- every moment in the waiting list or in the active one; when nobody was told of it, its lock is missing or expires, and
-- BullMQ hands it out again as a stalled job.
--
-- KEYS: waiting list, active list, prioritized, event stream, stalled, delayed, settings, counter of priorities, marker.
-- ARGV: now, prefix of the keys of jobs, duration of a lock in ms, name of the worker or '', result of the jobs, then id and
-- lock token of each job. Returns the fields of the first next job, then, for each next job, its id and either its data, if
-- only these differ from the first, or all its fields.
local call = redis.call
local wait, active, prioritized, events, stalled, delayed, settings, priorities, marker = unpack(KEYS)
local now, prefix, lockMs, worker, result = unpack(ARGV, 1, 5)
local n = (#ARGV - 5) / 2

local meta = call('HMGET', settings, 'paused', 'concurrency', 'max', 'opts.maxLenEvents')
if meta[1] or meta[2] or meta[3] or not meta[4] or call('EXISTS', prioritized, delayed) > 0 then return nil end
local hasEvents = tonumber(meta[4]) ~= 0

local ids, ended, locks, related, isEnded = {}, {}, {}, {}, {}
for i = 1, n do
  local id = ARGV[4 + 2 * i]
  local key = prefix .. id
  ids[i], ended[i], locks[i], isEnded[id] = id, key, key .. ':lock', true
  local r = 5 * i
  related[r - 4], related[r - 3], related[r - 2], related[r - 1], related[r] =
    key .. ':dependencies', key .. ':unsuccessful', key .. ':processed', key .. ':failed', key .. ':logs'
end
if call('EXISTS', unpack(related)) > 0 then return nil end
local tokens = call('MGET', unpack(locks))
-- The six fields of a new job, `processedOn` and `ats`, and `pb` if the worker has a name: a parent or a deduplication
-- would be a further one.
local fewest = worker == '' and 8 or 9
for i = 1, n do
  if tokens[i] ~= ARGV[5 + 2 * i] then return nil end
  if call('HLEN', ended[i]) ~= fewest then
    local job = call('HMGET', ended[i], 'name', 'parentKey', 'parent', 'deid')
    if not job[1] or job[2] or job[3] or job[4] then return nil end
  end
end
local waiting = call('LRANGE', wait, -n, -1)
local handed, next, jobs = #waiting, {}, {}
for i = 1, handed do
  local id = waiting[handed + 1 - i]
  local fields = call('HGETALL', prefix .. id)
  if #fields == 0 or string.sub(id, 1, 2) == '0:' then return nil end
  next[i], jobs[i] = id, fields
end

local answer, isFirstNew = {}, false
-- A job that has never started has twelve names and values, the fourth of which is its data.
local function isNew(fields) return #fields == 12 and fields[3] == 'data' end
local function isLikeFirst(fields)
  if not isFirstNew or not isNew(fields) then return false end
  local first = answer[1]
  for f = 1, 12 do
    if f ~= 4 and fields[f] ~= first[f] then return false end
  end
  return true
end
-- How often the job started, with this time. As text: Redis prints each number of a script with seventeen digits.
local function startsOf(fields)
  for f = 1, #fields, 2 do
    if fields[f] == 'ats' then return string.format('%d', fields[f + 1] + 1) end
  end
  return '1'
end
local function start(i)
  local fields, key = jobs[i], prefix .. next[i]
  local isLike = i > 1 and isLikeFirst(fields)
  local started = {'processedOn', now, 'ats', isLike and '1' or startsOf(fields)}
  if worker ~= '' then started[5], started[6] = 'pb', worker end
  if hasEvents then call('XADD', events, '*', 'event', 'active', 'jobId', next[i], 'prev', 'waiting') end
  call('SET', key .. ':lock', ARGV[5 + 2 * i], 'PX', lockMs)
  call('HSET', key, unpack(started))
  answer[2 * i], answer[2 * i + 1] = next[i], isLike and fields[4] or fields
  if isLike then return end
  if i == 1 then answer[1], isFirstNew = fields, isNew(fields) end
  -- If a name comes twice, the client takes the last value.
  for s = 1, #started do fields[#fields + 1] = started[s] end
end

local removed, isInBoth = 0, false
-- Jobs that end mostly started first, and are the last of the list. This is also the check that every job is active.
local function removeFromActive()
  local last = call('LRANGE', active, -n, -1)
  local areLast = #last == n
  for i = 1, #last do areLast = areLast and isEnded[last[i]] end
  if areLast then
    call('LTRIM', active, 0, -n - 1)
    removed = n
    return true
  end
  for i = 1, n do
    if call('LREM', active, -1, ids[i]) == 0 then return false end
    removed = i
  end
  return true
end
local ok, outcome = pcall(function()
  if not removeFromActive() then return false end
  if handed > 0 then
    call('LPUSH', active, unpack(next))
    isInBoth = true
    call('LTRIM', wait, 0, -handed - 1)
    isInBoth = false
  end
  if handed < n then call('DEL', priorities) end
  call('XTRIM', events, 'MAXLEN', '~', meta[4])
  for i = 1, n do
    if hasEvents then
      call('XADD', events, '*', 'event', 'completed', 'jobId', ids[i], 'returnvalue', result, 'prev', 'active')
    end
    if i <= handed then start(i) end
  end
  if handed > 0 then call('ZADD', marker, 0, '0') end
  if hasEvents and call('EXISTS', wait, active) == 0 then call('XADD', events, '*', 'event', 'drained') end
  if call('EXISTS', stalled) == 1 then call('SREM', stalled, unpack(ids)) end
  for i = 1, n do ended[n + i] = locks[i] end
  call('DEL', unpack(ended))
  return true
end)
if ok and outcome then return answer end
if isInBoth then
  for i = 1, handed do call('LREM', active, 1, next[i]) end
end
if removed > 0 then call('RPUSH', active, unpack(ids, 1, removed)) end
if not ok then error(outcome) end
return nil
