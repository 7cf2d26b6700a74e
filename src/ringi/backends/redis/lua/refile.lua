-- Add records to lists that their writers did not know, unless they have changed since. KEYS: filed, lists.
-- ARGV, for each: field, what was filed, what is filed now, how many lists, member …
local n = 1
while ARGV[n] do
  local last = n + 3 + tonumber(ARGV[n + 3])
  if redis.call('HGET', KEYS[1], ARGV[n]) == ARGV[n + 1] then
    for m = n + 4, last do redis.call('ZADD', KEYS[2], 0, ARGV[m]) end
    redis.call('HSET', KEYS[1], ARGV[n], ARGV[n + 2])
  end
  n = last + 1
end
return 1
