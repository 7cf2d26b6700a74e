-- Renew a claim, give it up, forget the job, or set it aside: it is kept, and nobody claims it again.
-- Does nothing once another worker has claimed it.
-- KEYS: jobs, due, claims, tries, lanes. ARGV: owner, key, kind, lane, what, microseconds.
if redis.call('HGET', KEYS[3], ARGV[2]) ~= ARGV[1] then return 0 end
local clock = redis.call('TIME')
local to = string.format('%.0f', clock[1] * 1000000 + clock[2] + tonumber(ARGV[6]))
local is_its = string.match(redis.call('HGET', KEYS[5], ARGV[4]) or '', '^%d+ (.*)$') == ARGV[2]
if ARGV[5] == 'finish' or ARGV[5] == 'set_aside' then
  redis.call('ZREM', KEYS[2] .. ARGV[3], ARGV[2])
  for _, each in ipairs({KEYS[3], KEYS[4]}) do redis.call('HDEL', each, ARGV[2]) end
  if ARGV[5] == 'finish' then redis.call('HDEL', KEYS[1], ARGV[2]) end
else
  redis.call('ZADD', KEYS[2] .. ARGV[3], to, ARGV[2])
end
if ARGV[5] == 'free' then redis.call('HDEL', KEYS[3], ARGV[2]) end
if is_its and ARGV[5] == 'renew' then redis.call('HSET', KEYS[5], ARGV[4], to .. ' ' .. ARGV[2]) end
if is_its and ARGV[5] ~= 'renew' then redis.call('HDEL', KEYS[5], ARGV[4]) end
return 1
