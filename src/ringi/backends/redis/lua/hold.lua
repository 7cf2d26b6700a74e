-- Renew a claim, give it up, with or without the turn in its lane, forget the job, or set it aside: it is kept, and
-- nobody claims it again.
-- Does nothing once another worker has claimed it.
-- KEYS: jobs, due, claims, tries, lanes, running. ARGV: owner, key, kind, lane, what, microseconds, concurrency key or ''.
if redis.call('HGET', KEYS[3], ARGV[2]) ~= ARGV[1] then return 0 end
local clock = redis.call('TIME')
local to = string.format('%.0f', clock[1] * 1000000 + clock[2] + tonumber(ARGV[6]))
local is_its = string.match(redis.call('HGET', KEYS[5], ARGV[4]) or '', '^%d+ (.*)$') == ARGV[2]
local due = KEYS[2] .. ARGV[3]
local retries = due .. '/retry'
if ARGV[5] == 'renew' then
  redis.call('ZADD', redis.call('ZSCORE', retries, ARGV[2]) and retries or due, to, ARGV[2])
  if ARGV[7] ~= '' then redis.call('ZADD', KEYS[6] .. ARGV[7], to, ARGV[2]) end
  if is_its then redis.call('HSET', KEYS[5], ARGV[4], to .. ' ' .. ARGV[2]) end
  return 1
end
for _, each in ipairs({due, retries}) do redis.call('ZREM', each, ARGV[2]) end
if ARGV[5] == 'free' or ARGV[5] == 'yield' then
  redis.call('ZADD', retries, to, ARGV[2])
  redis.call('HDEL', KEYS[3], ARGV[2])
else
  for _, each in ipairs({KEYS[3], KEYS[4]}) do redis.call('HDEL', each, ARGV[2]) end
  if ARGV[5] == 'finish' then redis.call('HDEL', KEYS[1], ARGV[2]) end
end
if ARGV[7] ~= '' then redis.call('ZREM', KEYS[6] .. ARGV[7], ARGV[2]) end
if is_its and ARGV[5] == 'yield' then redis.call('HSET', KEYS[5], ARGV[4], to .. ' ' .. ARGV[2])
elseif is_its then redis.call('HDEL', KEYS[5], ARGV[4]) end
return 1
